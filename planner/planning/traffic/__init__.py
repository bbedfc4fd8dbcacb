"""From traces, lengths and rates to streams of requests."""
