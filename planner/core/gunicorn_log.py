"""gunicorn's own log lines, without what lets someone in: its errors and access lines show whole addresses."""

from typing import Any

from gunicorn.glogging import Logger

from planner.core.logging import JsonFormatter, RedactingFormatter
from planner.settings.env import load_env


class RedactingLogger(Logger):  # type: ignore[misc]
    """Formats as gunicorn does, or as JSON, and hides secrets in the result."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        as_json = load_env().log_format == "json"
        for logger in (self.error_log, self.access_log):
            for handler in logger.handlers:
                known = handler.formatter
                usual = RedactingFormatter(known._fmt if known else None, known.datefmt if known else None)
                handler.setFormatter(JsonFormatter() if as_json else usual)
