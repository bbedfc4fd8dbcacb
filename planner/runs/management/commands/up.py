"""`manage.py up`: everything on one machine, with no other service."""

import contextlib
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandParser, call_command
from django.db import DatabaseError

from planner import planning
from planner.core.children import Child
from planner.core.ownership import AlreadyRunning, announce, own
from planner.core.static_files import static_files_collect
from planner.runs import leases
from planner.runs.models import Run, State
from planner.runs.reaper import reap_until
from planner.runs.sample import sample_submit
from planner.teams.first_admin import admin_get
from planner.teams.models import User
from planner.teams.services import sign_in_link_create

WEB, WORKER = "web server", "worker"
STOP_WITHIN_S = 5.0
WEB_STOPS_WITHIN_S = 2.0
TICK_S = 0.2
COMPUTING = (
    "Pages at {address}/ - computing the sample report; a first start compiles the simulator too, a minute or more"
)
TWO_WEB_PROCESSES_BYTES = 3 << 30


def port_number(text: str) -> int:
    """argparse type: 0 (any free one) to 65535."""
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError
    return port


class Command(BaseCommand):
    help = "Starts everything: database, web server, worker, and a sample report. Ctrl-C ends it all."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=port_number, default=8000, help="On 127.0.0.1; 0 takes any free one.")
        parser.add_argument("--data-dir", help="Where everything is kept (default: PLANNER_DATA_DIR, else ./var).")

    def handle(self, *, port: int, **_: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: stop.set())
        try:
            lock = own(settings.DATA_DIR)
        except AlreadyRunning as taken:
            sys.exit(f"staircase: already running on {settings.DATA_DIR} ({taken})")
        with lock, listen(port) as listener:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            announce(lock, address + "/")
            self.run(listener, address, stop)

    def run(self, listener: socket.socket, address: str, stop: threading.Event) -> None:
        self.say(f"Data in {settings.DATA_DIR}")
        call_command("prepare", stdout=self.stdout)
        if settings.STATIC_ROOT is None and not settings.DEBUG:
            folder = settings.DATA_DIR / "static"
            static_files_collect(folder)
            os.environ["PLANNER_STATIC_ROOT"] = str(folder)  # for the children, which read it when they start
        children = [worker_child(), web_child(listener)]
        try:
            for child in children:
                child.start()
            self.say(catalog_line())
            user = admin_get()
            run = sample_submit(user=user)
            if run.state != State.DONE:  # the first start compiles the simulator: without a word it looks stuck
                self.say(COMPUTING.format(address=address))
            threading.Thread(target=reap_until, args=(stop,), name="reaper", daemon=True).start()
            self.watch(children, stop, lambda: self.ready(address, user, run))
        finally:
            self.say("Stopping")
            end(children)

    def watch(self, children: list[Child], stop: threading.Event, ready: Any) -> None:
        """Keeps the children alive until told to stop; `ready` is asked until it says that it was."""
        announced = False
        while not stop.wait(TICK_S):
            for child in children:
                code = child.revive()
                if code is not None:
                    self.say(f"The {child.name} ended ({code}) and was started again; see {child.log}")
            with contextlib.suppress(DatabaseError):  # away for a moment: asked again
                announced = announced or ready()

    def ready(self, address: str, user: User, run: Run) -> bool:
        """Once the sample has its report and pages answer, prints the address that opens it signed in."""
        state = Run.objects.values_list("state", flat=True).get(pk=run.pk)
        if state in (State.QUEUED, State.RUNNING) or not answers(address + "/healthz"):
            return False
        if state == State.DONE:
            secret = sign_in_link_create(user=user, next_path=f"/reports/{run.pk}/")
            self.say(f"Sample report: {address}/sign-in/link/{secret}/ (opens signed in, once)")
        else:
            run.refresh_from_db()
            self.say(f"The sample ended {state}: {(run.failure or {}).get('detail', 'no reason given')}")
        self.say(f"Staircase runs at {address}/ - Ctrl-C ends it")
        return True

    def say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def end(children: list[Child]) -> None:
    """Lets runs that are nearly done finish; the others are taken up again at the next start."""
    for child in children:
        child.ask_to_end()
    try:
        deadline_s = time.monotonic() + STOP_WITHIN_S
        while time.monotonic() < deadline_s and leases.any_held():
            time.sleep(TICK_S)
    finally:
        for child in children:
            child.end(within_s=WEB_STOPS_WITHIN_S if child.name == WEB else 0.0)
    if settings.CELERY_BROKER_URL.startswith("filebroker:"):  # no other worker can be there
        leases.release_all()


def listen(port: int) -> socket.socket:
    """The web server's socket, made here so that a port in use is known before anything starts."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        sys.exit(f"staircase: cannot listen on port {port}: {error.strerror}; choose another with --port")
    return listener


def web_child(listener: socket.socket) -> Child:
    fd = listener.fileno()
    arguments = ["planner.wsgi", "--bind", f"fd://{fd}", "--workers", str(web_processes()), "--threads", "8"]
    arguments += ["--preload", "--graceful-timeout", "3", "--no-control-socket"]
    arguments += ["--config", "python:planner.core.gunicorn_conf"]
    return Child(name=WEB, module="gunicorn", arguments=arguments, log=log_file("web"), keep_fds=[fd])


def web_processes() -> int:
    """PLANNER_WEB_PROCESSES, else two where two cores and the memory for them are there."""
    if settings.ENV.web_processes is not None:
        return int(settings.ENV.web_processes)
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 2 if len(os.sched_getaffinity(0)) > 1 and memory_bytes >= TWO_WEB_PROCESSES_BYTES else 1


def worker_child() -> Child:
    arguments = ["-A", "planner.celery", "worker", "--concurrency", str(settings.ENV.worker_processes)]
    arguments += ["--without-gossip", "--without-mingle"]
    return Child(name=WORKER, module="celery", arguments=["--quiet", *arguments], log=log_file("worker"))


def log_file(name: str) -> Any:
    """One file per child, begun anew at each start."""
    folder = settings.DATA_DIR / "log"
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.log"
    path.write_bytes(b"")
    return path


def catalog_line() -> str:
    """Loads the catalog, so that a broken one is known at once."""
    day = planning.parse_scenario(planning.sample_scenario()).priced_at
    counts = [len(planning.catalog_listing(kind, day)) for kind in ("accelerators", "models")]
    return f"Catalog: {counts[0]} accelerators, {counts[1]} models"


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:  # noqa: S310 - our own address
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        time.sleep(0.1)
        return False
