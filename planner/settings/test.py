"""Settings for tests: a folder of their own, fast password hashing, no waiting on leases."""

import os
import tempfile
from pathlib import Path

from planner.settings.env import PROJECT_DIR

os.environ.setdefault("PLANNER_DATA_DIR", tempfile.mkdtemp(prefix="staircase-test-"))
os.environ.setdefault("PLANNER_SECRET_KEY", "test-only")
os.environ.setdefault("NUMBA_CACHE_DIR", str(PROJECT_DIR / "var" / "numba"))  # compile once, not per run

from planner.settings.base import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
AXES_ENABLED = False
PRICES_LOOK_S = None  # the shipped prices, without a query that only the first request makes
SIGN_INS_PER_PLACE = SIGN_INS_PER_ACCOUNT = 100_000  # every test signs in from the same place
# A file, since every thread has a connection of its own and those to a database in memory lock each other out.
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):  # noqa: F405
    DATABASES["default"]["TEST"] = {"NAME": DATA_DIR / "test.sqlite3"}  # noqa: F405
TEST_ARTIFACTS_DIR = Path(os.environ.get("PLANNER_TEST_ARTIFACTS_DIR", tempfile.gettempdir()))

CACHES = {  # of each test process alone
    name: {**cache, "LOCATION": DATA_DIR / "cache" / f"{name}.{os.getpid()}.sqlite3"}  # noqa: F405
    for name, cache in CACHES.items()  # noqa: F405
}
REQUEST_COUNTS_FILE = DATA_DIR / "cache" / f"requests.{os.getpid()}.sqlite3"  # noqa: F405
