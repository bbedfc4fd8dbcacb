from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "planner.teams"

    def ready(self) -> None:
        """Signals of signing in are heard from the start on."""
        from planner.teams import signing_in  # noqa: F401
