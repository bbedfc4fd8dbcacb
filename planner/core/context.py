"""What is known of the request being answered: its id, for logs and error bodies, and the token it came with."""

from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="-")
via_token: ContextVar[str] = ContextVar("via_token", default="")
"""Public prefix of the token; empty without one."""
