"""Accelerators, models and engines as data with sources, found by forgiving ids."""
