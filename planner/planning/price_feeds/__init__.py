"""Published price lists in the formats of SkyPilot, gpuhunt and genai-prices: read, and set beside what is in force."""

from planner.planning.price_feeds.api_changes import api_changes
from planner.planning.price_feeds.approving import approved_api, approved_gpu, book_of
from planner.planning.price_feeds.changes import Change, change_as_dict
from planner.planning.price_feeds.feeds import FORMATS, Feed, FeedInvalid, parse_feed
from planner.planning.price_feeds.gpu_changes import gpu_changes
from planner.planning.price_feeds.offers import GpuOffer, ReadOffers, read_offers

__all__ = [
    "FORMATS",
    "Change",
    "Feed",
    "FeedInvalid",
    "GpuOffer",
    "ReadOffers",
    "api_changes",
    "approved_api",
    "approved_gpu",
    "book_of",
    "change_as_dict",
    "gpu_changes",
    "parse_feed",
    "read_offers",
]
