"""Log lines: what they belong to on each, secrets on none; as text or, for collectors, as JSON."""

import json
import logging
import re
from datetime import UTC, datetime

from planner.core.context import LOG_IDS, request_id, run_id, team_id

_SECRETS = (
    (re.compile(r"\bst([cl])_([0-9a-f]{12})_[0-9a-f]+"), r"st\1_\2_***"),  # tokens; the prefix says which one
    (re.compile(r"\bwhsec_[A-Za-z0-9+/=]+"), "whsec_***"),
    (re.compile(r"(/(?:sign-in/link|shared|join|password)/)[^/\s\"'?]+"), r"\1***"),
    (re.compile(r"([?&]token=)[^&\s\"']+"), r"\1***"),
    (re.compile(r"(\w://[^:/@\s]*):[^@/\s]+@"), r"\1:***@"),  # passwords in addresses of databases and brokers
    (re.compile(r"[\w.+-]+@((?:[\w-]+\.)+[a-zA-Z]{2,})\b"), r"***@\1"),  # whose address it is
    (re.compile(r"(?i)(authorization['\"]?\s*[:=]\s*['\"]?\w+\s+)[^\s'\",]+"), r"\1***"),
)

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def redact(text: str) -> str:
    """The text with everything that lets someone in replaced by ***."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


class RedactingFormatter(logging.Formatter):
    """Formats as usual, tracebacks included, and hides secrets in the result."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """One line, whatever a sender put into it: line ends and other control characters show as escapes."""
        record.message = _CONTROL.sub(lambda found: repr(found[0])[1:-1], record.message)
        return super().formatMessage(record)


def _ids(record: logging.LogRecord) -> dict[str, str]:
    """Request, run and team of a line; of one that speaks of a request already answered, those of that request."""
    answered: dict[str, str] = getattr(getattr(record, "request", None), "META", {}).get(LOG_IDS, {})
    return {"request": request_id.get(), "run": run_id.get(), "team": team_id.get()} | answered


class JsonFormatter(logging.Formatter):
    """One JSON object a line: `time`, `level`, `logger`, `message`, and where known `request`, `run`, `team` and
    `traceback`."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        line |= {name: value for name, value in _ids(record).items() if value not in ("", "-")}
        if record.exc_info:
            line["traceback"] = redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


class RequestIdFilter(logging.Filter):
    """Adds `request_id` to each record ("-" outside a request)."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = _ids(record)["request"]
        return True
