"""Who is calling: an API token as the password of Basic, as a Bearer token, or a browser session; for sheets also a
link token in the address.

Basic stands first in the settings, so that a 401 names it: spreadsheets then ask for a user name and a password.
"""

import base64
import binascii
import re

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from planner.teams.models import ApiToken, LinkToken, User
from planner.teams.services import link_token_authenticate, token_authenticate

REALM = "staircase"
LINK_PARAMETER = "token"
_LINK = re.compile(r"stl_[0-9a-f]{1,64}_[0-9a-f]{1,128}")
_TOKEN = re.compile(r"stc_[0-9a-f]{1,64}_[0-9a-f]{1,128}")


def _credentials(request: Request, scheme: str) -> str | None:
    """What follows the scheme in the Authorization header; None when it names another scheme."""
    given, _, rest = request.headers.get("Authorization", "").strip().partition(" ")
    return rest.strip() if given.lower() == scheme else None


def _sign_in(text: str) -> tuple[User, ApiToken]:
    """The token's user; AuthenticationFailed says no more than that it is not valid."""
    token = token_authenticate(text) if _TOKEN.fullmatch(text) else None
    if token is None:
        raise AuthenticationFailed("This token is unknown, expired or revoked.")
    return token.user, token


class BasicTokenAuthentication(BaseAuthentication):
    """`Authorization: Basic …` with a token as the password; the user name is ignored."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        given = _credentials(request, "basic")
        if given is None:
            return None
        try:
            text = base64.b64decode(given, validate=True).decode()
        except (binascii.Error, ValueError):
            raise AuthenticationFailed("The Basic credentials are not readable.") from None
        name, _, password = text.partition(":")
        if not password and name:
            raise AuthenticationFailed("There is no password: the API token goes there, with any user name.")
        return _sign_in(password)

    def authenticate_header(self, request: Request) -> str:
        return f'Basic realm="{REALM}", charset="UTF-8"'


class BearerTokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer stc_…`."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        given = _credentials(request, "bearer")
        return None if given is None else _sign_in(given)


class LinkTokenAuthentication(BaseAuthentication):
    """`?token=stl_…`: only views below /sheets/ name this class, and only a link token is taken, so that an API token
    never needs to stand in an address."""

    def authenticate(self, request: Request) -> tuple[User, LinkToken] | None:
        given = request.query_params.getlist(LINK_PARAMETER)
        if not given:
            return None
        token = link_token_authenticate(given[0]) if len(given) == 1 and _LINK.fullmatch(given[0]) else None
        if token is None:
            raise AuthenticationFailed("This link token is unknown, expired or revoked. An API token goes in a header.")
        return token.user, token
