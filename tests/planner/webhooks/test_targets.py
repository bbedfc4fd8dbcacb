"""Which addresses a webhook may call, in whatever spelling they come."""

import socket
from typing import Any

import pytest

from planner.core.addresses import TargetRefused, is_public
from planner.webhooks.targets import parse_target, resolve

PRIVATE = [
    "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
    "169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255",
    "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:a00:1", "::127.0.0.1", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:7f00:1::",
]  # fmt: skip
PUBLIC = ["93.184.215.14", "1.1.1.1", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"]
LOCAL_SPELLINGS = [
    "2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "127.0.0.1.", "[::1]", "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]", "2852039166", "[fe80::1%25lo]", "0",
]  # fmt: skip


def answers(*addresses: str) -> Any:
    """A resolver that knows these addresses for every name, and counts how often it is asked."""

    def lookup(host: str, port: int, **_: Any) -> list[Any]:
        lookup.asked += 1  # type: ignore[attr-defined]
        v6 = [":" in address for address in addresses]
        families = [socket.AF_INET6 if six else socket.AF_INET for six in v6]
        return [(family, socket.SOCK_STREAM, 6, "", (a, port)) for family, a in zip(families, addresses, strict=True)]

    lookup.asked = 0  # type: ignore[attr-defined]
    return lookup


@pytest.mark.parametrize("address", PRIVATE)
def test_what_is_not_public_is_refused(address: str) -> None:
    assert not is_public(address)
    target = parse_target("https://example.com/hook", private=False)
    with pytest.raises(TargetRefused) as refused:
        resolve(target, private=False, lookup=answers("93.184.215.14", address))
    assert refused.value.code == "private_address"


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public_is_not(address: str) -> None:
    assert is_public(address)
    target = parse_target("https://example.com/hook", private=False)
    assert resolve(target, private=False, lookup=answers(address))[0][1][0] == address


@pytest.mark.parametrize("host", LOCAL_SPELLINGS)
def test_an_address_in_any_spelling_is_known_when_the_webhook_is_made(host: str) -> None:
    with pytest.raises(TargetRefused):
        parse_target(f"https://{host}/hook", private=False)


def test_the_operator_may_allow_them() -> None:
    target = parse_target("http://127.0.0.1:9000/hook?a=1", private=True)
    assert (target.tls, target.host, target.port, target.path) == (False, "127.0.0.1", 9000, "/hook?a=1")
    assert resolve(target, private=True, lookup=answers("127.0.0.1"))


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://example.com/", "https_needed"),
        ("ftp://example.com/", "invalid_url"),
        ("https://", "invalid_url"),
        ("https:///path", "invalid_url"),
        ("example.com", "invalid_url"),
        ("https://user:word@example.com/", "invalid_url"),
        ("https://example.com@127.0.0.1/", "invalid_url"),
        ("https://example.com/#part", "invalid_url"),
        ("https://example.com:0/", "invalid_url"),
        ("https://example.com:99999/", "invalid_url"),
        ("https://[::1", "invalid_url"),
        ("https://exa mple.com/", "invalid_url"),
        ("https://example.com\\@127.0.0.1/", "invalid_url"),
        ("https://example.com/\r\nHost: x", "invalid_url"),
        ("https://exämple.com/", "invalid_url"),
        ("https://example.com/" + "a" * 500, "invalid_url"),
        ("", "invalid_url"),
    ],
)
def test_what_is_no_address_of_a_webhook(url: str, code: str) -> None:
    with pytest.raises(TargetRefused) as refused:
        parse_target(url, private=False)
    assert refused.value.code == code


def test_a_name_without_an_address() -> None:
    def none(*_: Any, **__: Any) -> list[Any]:
        raise socket.gaierror

    target = parse_target("https://nowhere.example/", private=False)
    with pytest.raises(TargetRefused, match="no address"):
        resolve(target, private=False, lookup=none)
