"""What to do with a plan: how to run it, what to watch, what may go wrong, and how to confirm it."""
