"""Settings of Django REST framework and of the OpenAPI document."""

from typing import Any

REST_FRAMEWORK: dict[str, Any] = {
    # Basic first: a 401 names the first one, and spreadsheets ask for a password only when it is Basic.
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "planner.api.authentication.BasicTokenAuthentication",
        "planner.api.authentication.BearerTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["planner.api.access.TeamScope"],
    "DEFAULT_THROTTLE_CLASSES": ["planner.api.throttles.EveryRequest"],
    "DEFAULT_THROTTLE_RATES": {"requests_per_minute": 1200, "new_runs_per_minute": 30, "batches_per_minute": 20},
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "planner.api.negotiation.FormatThenAccept",
    "DEFAULT_RENDERER_CLASSES": ["planner.api.renderers.Json"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],  # for the document; bodies are read as bytes
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "planner.api.problems.problem_handler",
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Staircase API",
    "DESCRIPTION": "Sizing and pricing of language-model serving. Every number's name ends in its unit.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "LICENSE": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "PREPROCESSING_HOOKS": ["planner.api.openapi.only_canonical_paths"],
    "POSTPROCESSING_HOOKS": ["planner.api.openapi.add_components"],
}
