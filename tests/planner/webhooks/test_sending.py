"""One request to a checked address."""

import socket
import threading

import pytest

from planner.webhooks.sending import post
from planner.webhooks.targets import parse_target, resolve
from tests.planner.webhooks.conftest import Receiver
from tests.planner.webhooks.test_targets import answers


def send(receiver: Receiver, url: str = "", **more: float):  # type: ignore[no-untyped-def]
    target = parse_target(url or receiver.url, private=True)
    return post(target, resolve(target, private=True, lookup=answers("127.0.0.1")), {"A": "b"}, b"{}", **more)


def test_it_goes_to_the_address_that_was_checked_and_names_the_host(receiver: Receiver) -> None:
    port = receiver.url.rpartition(":")[2].partition("/")[0]
    outcome = send(receiver, f"http://name.example:{port}/hook?x=1")
    assert (outcome.status, outcome.error) == (204, "")
    path, headers, body = receiver.got[0]
    assert (path, headers["host"], headers["a"], body) == ("/hook?x=1", f"name.example:{port}", "b", b"{}")


def test_a_name_is_looked_up_once(receiver: Receiver) -> None:
    port = int(receiver.url.rpartition(":")[2].partition("/")[0])
    lookup = answers("127.0.0.1")
    target = parse_target(f"http://rebinding.example:{port}/", private=True)
    post(target, resolve(target, private=True, lookup=lookup), {}, b"")
    assert lookup.asked == 1


def test_redirects_are_not_followed(receiver: Receiver) -> None:
    receiver.status, receiver.headers = 302, {"Location": receiver.url}
    outcome = send(receiver)
    assert (outcome.status, outcome.error) == (302, "Redirects are not followed.")
    assert len(receiver.got) == 1


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_what_is_not_2xx_has_failed(receiver: Receiver, status: int) -> None:
    receiver.status = status
    assert send(receiver).error == f"The receiver answered {status}."


def test_a_receiver_that_never_comes_to_an_end_is_left(receiver: Receiver) -> None:
    receiver.drip = threading.Event()
    outcome = send(receiver, whole_s=0.2)
    assert outcome.status is None
    assert "longer than 0.2 s" in outcome.error


def test_nobody_there(receiver: Receiver) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        outcome = send(receiver, f"http://127.0.0.1:{unused.getsockname()[1]}/")
    assert outcome.status is None
    assert "cannot be reached" in outcome.error


def test_plain_http_where_tls_is_expected(receiver: Receiver) -> None:
    assert "TLS" in send(receiver, receiver.url.replace("http:", "https:")).error
