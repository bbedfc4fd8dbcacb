"""The second factor: six digits of an authenticator app (TOTP, RFC 6238), or one of ten recovery codes, each once.

The seed is not stored: it follows from a random salt of the row and the signing key, so that the database alone signs
nobody in. With another key all second factors end; recovery codes and `manage.py secondfactor EMAIL --remove` remain.
"""

import base64
import hmac
import secrets
import time
from urllib.parse import quote, urlencode

from django.db import transaction
from django.utils.crypto import salted_hmac

from planner.teams.audit import record
from planner.teams.browser_sessions import sessions_end
from planner.teams.hashing import sha256_of
from planner.teams.models import SecondFactor, Team, User

STEP_S = 30
DIGITS = 6
RECOVERY_CODES = 10
_RECOVERY_BYTES = 15
"""120 bits: enough that a plain hash keeps them (ASVS 6.5.2)."""


def new_salt() -> str:
    """For a factor that is being set up."""
    return secrets.token_hex(16)


def seed_of(salt: str) -> bytes:
    """The 160 bits that app and server share."""
    return salted_hmac("planner.second_factor", salt, algorithm="sha256").digest()[:20]


def typed_seed(salt: str) -> str:
    """The seed as people type it into an app: base32 in groups of four."""
    text = base64.b32encode(seed_of(salt)).decode()
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def app_address(user: User, salt: str) -> str:
    """The address that opens an authenticator app on a phone."""
    query = urlencode({"secret": typed_seed(salt).replace(" ", ""), "issuer": "Staircase"})
    return f"otpauth://totp/Staircase:{quote(user.email)}?{query}"


def code_at(salt: str, step: int) -> str:
    """The six digits of a step of 30 s since 1970: HOTP of RFC 4226 with SHA-1, which all apps speak."""
    digest = hmac.digest(seed_of(salt), step.to_bytes(8, "big"), "sha1")
    at = digest[-1] & 15
    return str((int.from_bytes(digest[at : at + 4], "big") & 0x7FFFFFFF) % 10**DIGITS).zfill(DIGITS)


def step_of(salt: str, code: str, after: int = -1) -> int | None:
    """The step whose code this is: the running one or one before or after it, for clocks that are off; later than
    `after`. None: none of them."""
    now = int(time.time()) // STEP_S
    typed = "".join(code.split())
    found = [
        step for step in (now - 1, now, now + 1) if hmac.compare_digest(code_at(salt, step).encode(), typed.encode())
    ]
    return max((step for step in found if step > after), default=None)


def factor_of(user: User) -> SecondFactor | None:
    return SecondFactor.objects.filter(user=user).first()


@transaction.atomic
def factor_set(*, user: User, salt: str, code: str, session_key: str | None) -> list[str] | None:
    """Puts the factor in force once a code shows that the app has it, signs out all other browsers, and returns the
    recovery codes, shown this once. None: the code is wrong."""
    step = step_of(salt, code)
    if step is None:
        return None
    texts = [base64.b32encode(secrets.token_bytes(_RECOVERY_BYTES)).decode() for _ in range(RECOVERY_CODES)]
    SecondFactor.objects.filter(user=user).delete()
    SecondFactor.objects.create(
        user=user, salt=salt, last_step=step, recovery_sha256=[_recovery_hash(text) for text in texts]
    )
    sessions_end(user, but=session_key)
    _record(user, "second_factor.set")
    return ["-".join(text[at : at + 6] for at in range(0, len(text), 6)) for text in texts]


@transaction.atomic
def factor_remove(*, user: User) -> bool:
    """Takes the factor away; False: there was none."""
    removed, _ = SecondFactor.objects.filter(user=user).delete()
    if removed:
        _record(user, "second_factor.removed")
    return bool(removed)


@transaction.atomic
def code_use(*, user: User, code: str) -> bool:
    """Whether this is a code in force, of the app or for recovery; it is used up by that."""
    factor = SecondFactor.objects.select_for_update().filter(user=user).first()
    if factor is None:
        return False
    step = step_of(factor.salt, code, after=factor.last_step)
    if step is not None:
        return bool(SecondFactor.objects.filter(pk=factor.pk, last_step__lt=step).update(last_step=step))
    given = _recovery_hash(code)
    if given not in factor.recovery_sha256:
        return False
    factor.recovery_sha256 = [kept for kept in factor.recovery_sha256 if kept != given]
    factor.save(update_fields=["recovery_sha256"])
    _record(user, "second_factor.recovered")
    return True


def _recovery_hash(text: str) -> str:
    return sha256_of("".join(text.split()).replace("-", "").upper())


def _record(user: User, action: str) -> None:
    for team in Team.objects.filter(memberships__user=user):
        record(team=team, actor=user, action=action, thing=user, kind="member")
