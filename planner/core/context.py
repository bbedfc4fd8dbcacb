"""What is known of the request being answered or the run being computed, for logs and error bodies."""

from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="-")
via_token: ContextVar[str] = ContextVar("via_token", default="")
"""Public prefix of the token; empty without one."""
LOG_IDS = "planner.log_ids"
"""Where a request that was answered keeps its ids: Django logs the answer once every middleware has ended."""
run_id: ContextVar[str] = ContextVar("run_id", default="")
"""The run that a worker computes; empty elsewhere."""
team_id: ContextVar[str] = ContextVar("team_id", default="")
"""The team that a request acts for, or whose run it is; empty before that is known."""
