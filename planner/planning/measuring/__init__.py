"""Load tests: what to send, how answers are judged, where to go next, and what a planned deployment serves. Pure."""
