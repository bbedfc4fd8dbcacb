"""The small forms of team, account and invitation pages; what they send is judged again by the services."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from planner.core.addresses import MAX_URL_CHARACTERS
from planner.teams.invitations import DEFAULT_DAYS, MOST_DAYS
from planner.teams.models import Role, Scope
from planner.webhooks.models import Event

MOST_TOKEN_DAYS = 3650
_ROLES = [(Role.EDITOR, "Editor"), (Role.VIEWER, "Viewer"), (Role.OWNER, "Owner")]
_SCOPES = {
    Scope.READ: "Read",
    Scope.RUN: "Read and run",
    Scope.WRITE: "Read, run and write",
}


def add_errors(form: forms.Form, refused: ValidationError) -> None:
    """Puts what a service refused beside the fields that it names, the rest above the form."""
    by_field = refused.message_dict if hasattr(refused, "error_dict") else {"": refused.messages}
    for name, messages in by_field.items():
        form.add_error(name if name in form.fields else None, messages)


class LineField(forms.CharField):
    """The name of a person or a thing: one line that prints, as the API has it."""

    def validate(self, value: str) -> None:
        super().validate(value)
        if not value.isprintable():
            raise ValidationError("It holds characters that do not print, such as control characters.")


class TeamNameForm(forms.Form):
    name = LineField(label="Name of the team", max_length=120)


class InviteForm(forms.Form):
    role = forms.ChoiceField(label="Role", choices=_ROLES)
    email = forms.EmailField(
        label="Only for", required=False, help_text="An address. Left out, whoever has the link may use it, once."
    )
    days = forms.IntegerField(label="Days", min_value=1, max_value=MOST_DAYS, initial=DEFAULT_DAYS)


class TokenForm(forms.Form):
    """`scopes`: those that the person's role fills; `team`: whether tokens of the team are theirs to make."""

    name = LineField(label="What it is for", max_length=120)
    kind = forms.ChoiceField(label="Kind", help_text="Yours ends when you leave; a link only reads, for sheets.")
    scope = forms.ChoiceField(label="Scope")
    days = forms.IntegerField(
        label="Days", min_value=1, max_value=MOST_TOKEN_DAYS, initial=365, help_text="Until it stops working."
    )

    def __init__(self, *args: Any, scopes: list[Scope], team: bool, link: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kinds = [("personal", "Yours")]
        kinds += [("team", "The team's")] if team else []
        kinds += [("link", "Link, for sheets")] if link else []
        self.fields["kind"].choices = kinds  # type: ignore[attr-defined]
        self.fields["scope"].choices = [(scope, _SCOPES[scope]) for scope in scopes]  # type: ignore[attr-defined]

    @property
    def expires_at(self) -> Any:
        return timezone.now() + timedelta(days=self.cleaned_data["days"])


_EVENTS: dict[str, tuple[str, Sequence[str]]] = {
    "all": ("Every run that ends", Event.values),
    "done": ("Runs that are done", [Event.RUN_DONE]),
    "wrong": ("Runs that failed or were cancelled", [Event.RUN_FAILED, Event.RUN_CANCELLED]),
}


class WebhookForm(forms.Form):
    url = forms.CharField(
        label="Address",
        max_length=MAX_URL_CHARACTERS,
        help_text="https://…, of a host that the Internet can reach.",
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off"}),
    )
    name = LineField(label="What it is for", max_length=120, required=False)
    wanted = forms.ChoiceField(label="Call it for", choices=[(key, label) for key, (label, _) in _EVENTS.items()])

    @property
    def events(self) -> list[str]:
        return [str(event) for event in _EVENTS[self.cleaned_data["wanted"]][1]]


class DeleteForm(forms.Form):
    """Asks for the team's name, typed."""

    typed = forms.CharField(label="Name of the team", max_length=120)

    def __init__(self, *args: Any, name: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._name = name

    def clean_typed(self) -> str:
        typed = str(self.cleaned_data["typed"])
        if typed != self._name:
            raise ValidationError("This is not the name of the team.")
        return typed


def _new_password(label: str) -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})
    return forms.CharField(
        label=label, widget=widget, strip=False, max_length=1000, help_text="At least 12 characters, no common word."
    )


class JoinForm(forms.Form):
    """A new person's account; without `email` where the invitation states the address."""

    name = LineField(label="Your name", max_length=150, widget=forms.TextInput(attrs={"autocomplete": "name"}))
    email = forms.EmailField(label="E-mail", widget=forms.EmailInput(attrs={"autocomplete": "username"}))
    password = _new_password("Password")

    def __init__(self, *args: Any, email: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if email:
            self.fields["email"].initial, self.fields["email"].disabled = email, True


class NewPasswordForm(forms.Form):
    password = _new_password("New password")


class ChangePasswordForm(forms.Form):
    old = forms.CharField(
        label="Password now",
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    password = _new_password("New password")


class PersonForm(forms.Form):
    name = LineField(label="Your name", max_length=150, widget=forms.TextInput(attrs={"autocomplete": "name"}))
