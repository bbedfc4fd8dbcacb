"""Runs go on while everything around them fails: `python -m scripts.faults --help`."""
