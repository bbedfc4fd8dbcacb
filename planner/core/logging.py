"""Puts the request id on every log line."""

import logging

from planner.core.context import request_id


class RequestIdFilter(logging.Filter):
    """Adds `request_id` to each record ("-" outside a request)."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True
