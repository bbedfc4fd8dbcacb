"""Log lines: the request id on each, secrets on none."""

import logging
import re

from planner.core.context import request_id

_SECRETS = (
    (re.compile(r"\bst([cl])_([0-9a-f]{12})_[0-9a-f]+"), r"st\1_\2_***"),  # tokens; the prefix says which one
    (re.compile(r"\bwhsec_[A-Za-z0-9+/=]+"), "whsec_***"),
    (re.compile(r"(/(?:sign-in/link|shared|join|password)/)[^/\s\"'?]+"), r"\1***"),
    (re.compile(r"([?&]token=)[^&\s\"']+"), r"\1***"),
    (re.compile(r"(\w://[^:/@\s]*):[^@/\s]+@"), r"\1:***@"),  # passwords in addresses of databases and brokers
    (re.compile(r"(?i)(authorization['\"]?\s*[:=]\s*['\"]?\w+\s+)[^\s'\",]+"), r"\1***"),
)


def redact(text: str) -> str:
    """The text with everything that lets someone in replaced by ***."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


class RedactingFormatter(logging.Formatter):
    """Formats as usual, tracebacks included, and hides secrets in the result."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


class RequestIdFilter(logging.Filter):
    """Adds `request_id` to each record ("-" outside a request)."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True
