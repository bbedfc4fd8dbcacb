"""The message that has a worker fetch a price list; losing or doubling one harms nothing."""

FETCH = "planner.prices.fetch"
