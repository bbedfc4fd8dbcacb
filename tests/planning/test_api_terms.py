"""An alternative's terms in a scenario's bills: its cache, tier, hours, discount and minimum."""

import math
from fractions import Fraction

import pytest

from planner.planning import parse_scenario
from planner.planning.money.horizon import _view
from planner.planning.money.hosted import hosted_bills
from planner.planning.search.candidates import make_job
from tests.planning.scenarios import changed, errors_of

MONTH_S = 730 * 3600
CLAUDE = {"provider": "anthropic", "model": "claude-sonnet-4-5"}
OWN = {"provider": "p", "model": "m", "price": {"input_usd_per_mtok": 3, "output_usd_per_mtok": 15}}


def bills(*alternatives, groups=50, shared=5000, mean_rps=0.5, offset=0, shape=None):
    document = changed("api", {"alternatives": list(alternatives), "utc_offset_hours": offset})
    document["traffic"] = {
        "arrival": {"kind": "poisson", "mean_rps": mean_rps},
        "shape": shape or {"kind": "constant"},
        "prompt_tokens": {"kind": "fixed", "tokens": 6000},
        "output_tokens": {"kind": "fixed", "tokens": 200},
        "prefix": {"kind": "shared", "groups": groups, "tokens": shared},
    }
    scenario = parse_scenario(document)
    return [found.as_dict() for found in hosted_bills(scenario, make_job(scenario, lambda: None).load)]


def usd(bill):
    return float(bill["usd_per_month"])


def test_prefixes_are_written_when_they_expired_and_read_otherwise():
    """Every 100 s on average each of 50 prefixes comes: 5 % find it gone after five minutes. Tokens in millions."""
    bill, hour, off = bills(
        CLAUDE | {"caching": "default"}, CLAUDE | {"caching": "1h"}, CLAUDE | {"caching": "off"}
    )  # fmt: skip
    requests_m, gone = 0.5 * MONTH_S / 1e6, math.exp(-3)
    by_hand = requests_m * (1000 * 3 + 5000 * ((1 - gone) * 0.3 + gone * 3.75) + 200 * 15)
    assert usd(bill) == pytest.approx(by_hand, rel=2e-4)
    assert usd(hour) == pytest.approx(requests_m * (1000 * 3 + 5000 * 0.3 + 200 * 15), rel=1e-4)
    assert usd(off) == pytest.approx(requests_m * (6000 * 3 + 200 * 15), rel=1e-9)
    assert "95.02 % of the requests find their shared prefix" in bill["note"]


def test_of_the_ways_to_use_a_cache_the_cheapest_is_taken():
    often, seldom = bills(CLAUDE)[0], bills(CLAUDE, mean_rps=0.0005)[0]
    assert "kept 1 h after" in often["note"]
    assert [line["label"] for line in seldom["lines"]] == ["Input", "Output"]
    assert "would cost more than it saves" in seldom["note"]


def test_a_prefix_below_the_least_length_is_billed_as_other_input():
    bill = bills({"provider": "openai", "model": "gpt-5.4"}, shared=1000)[0]
    assert [line["label"] for line in bill["lines"]] == ["Input", "Output"]
    assert "too short" in bill["note"]


def test_hours_of_the_week_pay_the_price_of_their_time_of_day():
    """Busy from 8 to 18, told by a clock eight hours ahead of UTC: 0 to 10 UTC, of which DeepSeek's dear hours are
    seven of ten."""
    model, shape = {"provider": "deepseek", "model": "deepseek-v4-flash"}, {"kind": "business_hours"}
    documents = [bills(model, offset=offset, shape=shape)[0] for offset in (0, 8)]
    dear = [
        sum(line["tokens"] for line in bill["lines"] if "01:00 to 04:00" in line["label"]) /
        sum(line["tokens"] for line in bill["lines"]) for bill in documents
    ]  # fmt: skip
    assert dear[1] > 2 * dear[0]


def test_terms_are_told_and_counted():
    plain, agreed = bills(OWN, OWN | {"model": "n", "discount_ratio": 0.2, "min_usd_per_month": 90_000})
    assert (plain["terms"], agreed["terms"]) == ("", "20 % off the list price, at least $90,000 a month")
    assert usd(agreed) == 90_000
    missing = agreed["lines"][-1]
    assert missing["label"] == "Up to the monthly minimum"
    assert float(missing["usd_per_month"]) == pytest.approx(90_000 - 0.8 * usd(plain), abs=0.02)


def test_a_saving_is_the_difference_of_the_two_bills_as_they_are_shown():
    """$1,175.006 and $399.444 are shown as $1,175.01 and $399.44: 775.57 apart, not 775.56."""
    shown = _view([Fraction("1175.006")], [Fraction("399.444")])
    assert shown["saving_usd_per_month"] == shown["api_usd_per_month"] - shown["self_host_usd_per_month"]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"provider": "groq", "model": "llama-3.3-70b-versatile", "service_tier": "flex"}, "service_tier"),
        (OWN | {"caching": "1h"}, "caching"),
        (OWN | {"price": OWN["price"] | {"batch_input_usd_per_mtok": 1}}, "price/batch_output_usd_per_mtok"),
        (OWN | {"discount_ratio": 20}, "discount_ratio"),
    ],
)
def test_what_is_not_sold_is_refused(more, field):
    (fault,) = errors_of(changed("api.alternatives", [more]))
    assert fault.pointer == f"/api/alternatives/0/{field}"
