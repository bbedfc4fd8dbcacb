"""Settings for tests: a folder of their own, fast password hashing, no waiting on leases."""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("PLANNER_DATA_DIR", tempfile.mkdtemp(prefix="staircase-test-"))
os.environ.setdefault("PLANNER_SECRET_KEY", "test-only")

from planner.settings.base import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
AXES_ENABLED = False
TEST_ARTIFACTS_DIR = Path(os.environ.get("PLANNER_TEST_ARTIFACTS_DIR", tempfile.gettempdir()))
