"""Prices of GPUs and APIs as of a day, bills, fleet cost and break-even, exact."""
