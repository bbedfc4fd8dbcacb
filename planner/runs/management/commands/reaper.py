"""`manage.py reaper`: brings lost runs back; a service of its own where `up` is not used."""

import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand

from planner.runs.reaper import reap_until


class Command(BaseCommand):
    help = "Sends lost runs to the workers again, until it is told to stop."
    requires_system_checks: list[str] = []

    def handle(self, **_: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        reap_until(stop, sign_of_life=settings.DATA_DIR / "reaper.alive")
