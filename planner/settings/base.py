"""Django's settings, read top to bottom. What differs between machines comes from `env.py`."""

import os
from typing import Any

from planner.settings.env import PROJECT_DIR, broker_options, database, load_env, secret_key, static_storage
from planner.settings.rest import REST_FRAMEWORK as REST_FRAMEWORK  # its own file: the API's conventions
from planner.settings.rest import SPECTACULAR_SETTINGS as SPECTACULAR_SETTINGS

ENV = load_env()

DEBUG = ENV.debug
SECRET_KEY = secret_key(ENV)
ALLOWED_HOSTS = ENV.allowed_hosts
DATA_DIR = ENV.data_dir

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "planner.core",
    "planner.measure",
    "planner.teams",
    "planner.prices",
    "planner.datasets",
    "planner.scenarios",
    "planner.webhooks",
    "planner.runs",
    "planner.reports",
    "planner.api",
    "planner.web",
]

MIDDLEWARE = [
    "planner.core.middleware.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "planner.core.request_counts.CountRequests",
    "planner.core.middleware.PrivateAnswersMiddleware",
    "planner.prices.in_force.PricesInForce",
    "planner.core.middleware.BrowserHeadersMiddleware",
    "planner.core.compressing.CompressPages",
    "planner.web.reader.NumbersOfTheReader",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "planner.teams.signing_in.KeepSignedIn",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "planner.urls"
WSGI_APPLICATION = "planner.wsgi.application"
APPEND_SLASH = True

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [PROJECT_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "loaders": [
                ("django.template.loaders.cached.Loader", ["django.template.loaders.filesystem.Loader"])
                if not DEBUG
                else "django.template.loaders.filesystem.Loader",
                "django.template.loaders.app_directories.Loader",
            ],
        },
    }
]

DATABASES = {"default": database(ENV)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- people ---
AUTH_USER_MODEL = "teams.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "planner.teams.password_rules.NotEasilyGuessed"},
    {"NAME": "planner.teams.password_rules.NotBreached"},
]
BREACHED_PASSWORDS_FILE = ENV.breached_passwords_file
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"
CSRF_FAILURE_VIEW = "planner.web.views.errors.csrf_failure"
AXES_LOCKOUT_CALLABLE = "planner.web.views.auth.locked_out"
AXES_USERNAME_CALLABLE = "planner.web.views.auth.typed_address"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_CLIENT_IP_CALLABLE = "planner.core.client_address.client_address"
TRUSTED_PROXIES = ENV.proxies
# Beside the lock above, which one place or one account at a time meets: those who try many of either.
SIGN_INS_PER_PLACE, SIGN_INS_PER_PLACE_S = 100, 900
SIGN_INS_PER_ACCOUNT, SIGN_INS_PER_ACCOUNT_S = 100, 3600

# --- what the web processes of a machine share: limits by default; estimates by digest apart, so that they push out no
# limit. Files of their own, so that a refreshing sheet does not wait for the database.
CACHES = {
    "default": {
        "BACKEND": "planner.core.shared_cache.SharedCache",
        "LOCATION": DATA_DIR / "cache" / "limits.sqlite3",
        "OPTIONS": {"MAX_ENTRIES": 20_000},
    },
    "estimates": {
        "BACKEND": "planner.core.shared_cache.SharedCache",
        "LOCATION": DATA_DIR / "cache" / "estimates.sqlite3",
        "TIMEOUT": 6 * 3600,
        "OPTIONS": {"MAX_ENTRIES": 4_000},
    },
}
REQUEST_COUNTS_FILE = DATA_DIR / "cache" / "requests.sqlite3"

# --- price lists ---
PRICES_LOOK_S: float | None = 5.0  # how often a process looks whether prices were approved; None: never
PRICE_FEEDS = ENV.price_feeds
PRICE_FEEDS_PRIVATE = ENV.price_feeds_private
PRICE_REFRESH_HOURS = ENV.price_refresh_hours

METRICS_TOKEN = ENV.metrics_token.get_secret_value() if ENV.metrics_token else None

# --- transport and headers ---
# `__Host-`: of this host alone, over HTTPS, for all paths; no other host of the domain can set one in its place.
SESSION_COOKIE_NAME = "__Host-staircase_session" if ENV.https else "staircase_session"
CSRF_COOKIE_NAME = "__Host-staircase_csrf" if ENV.https else "csrftoken"
SESSION_ENGINE = "planner.teams.browser_sessions"
SESSION_COOKIE_AGE = round(ENV.session_idle_hours * 3600)
SESSION_LIFE_S = round(ENV.session_days * 86400)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENV.https
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
SECURE_SSL_REDIRECT = ENV.https
SECURE_HSTS_SECONDS = 31_536_000 if ENV.https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = ENV.https
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ENV.https else None
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:", "blob:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 500
FILE_UPLOAD_HANDLERS = [
    "planner.core.uploads.BoundedUpload",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

# --- language, time, files ---
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
STATIC_URL = "/static/"
STATICFILES_DIRS = [PROJECT_DIR / "planner" / "static"]
STATIC_ROOT = ENV.static_root
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": static_storage(ENV)},
}
WHITENOISE_USE_FINDERS = ENV.static_root is None
WHITENOISE_AUTOREFRESH = DEBUG

# --- jobs: the row is the truth, a message only wakes a worker ---
RUN_LEASE_S = ENV.lease_s
RUN_MAX_ATTEMPTS = 3
RUN_RESEND_QUEUED_AFTER_S = 10.0
OPEN_RUNS_PER_TEAM = ENV.open_runs_per_team
STORED_RUNS_PER_TEAM = ENV.stored_runs_per_team
KEEP_RUNS_DAYS = ENV.keep_runs_days
WEBHOOK_PRIVATE_TARGETS = ENV.webhook_private_targets
MEASURE_TARGETS = ENV.measure_targets
CELERY_BROKER_URL = ENV.broker_url.get_secret_value() if ENV.broker_url else "filebroker://localhost/"
CELERY_BROKER_TRANSPORT_OPTIONS = broker_options(ENV, CELERY_BROKER_URL)
CELERY_BROKER_CONNECTION_TIMEOUT = 4
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SOFT_TIME_LIMIT = 1500  # below the 30 minutes after which RabbitMQ takes a message back
CELERY_TASK_TIME_LIMIT = 1560
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_TASKS_PER_CHILD = 200
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
os.environ.setdefault("NUMBA_CACHE_DIR", str(DATA_DIR / "numba"))  # must be writable, or every start compiles again
os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # several runs at once use several processes

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "planner.core.logging.RequestIdFilter"}},
    "formatters": {
        "json": {"()": "planner.core.logging.JsonFormatter"},
        "text": {
            "()": "planner.core.logging.RedactingFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s request=%(request_id)s %(message)s",
        },
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": ENV.log_format, "filters": ["request_id"]}},
    "root": {"handlers": ["console"], "level": ENV.log_level},
}
