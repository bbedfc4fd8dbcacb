"""Candidates, why some are out, what a replica can take and how many are needed."""
