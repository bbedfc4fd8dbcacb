"""Numbers in the marks of the reader's language: on every page the same numbers; in files and the API, dot decimals."""

import re
from collections.abc import Iterator

import pytest
from django.test import Client

from tests.e2e.test_pages import addresses
from tests.e2e.world import World, build_world
from tests.planner.web.support import signed_in

pytestmark = pytest.mark.django_db

GERMAN, NARROW = str.maketrans(".,", ",."), "\u202f"
UNSEEN = re.compile(r"<(script|style|textarea|code|pre)\b.*?</\1>|<[^>]*>|[\d.,]+ ms of|≈ \d+|\d+ s so far", re.DOTALL)
BLANKS = re.compile(r"[ \n\t]+")
INNER = re.compile(r"(?<=\d)[.,](?=\d)")
NUMBER = re.compile(r"\$\d+\.\d|\d,\d{3}\b|^[−(≈+]*\d+\.\d+[);,.]*$")
GROUPED = re.compile(r"\d,\d")
TYPED = {"form", "form-hand", "edit"}
CITED = {"(1,299", "2,563"}
"""In the catalog's sources, which are quoted as they are."""


@pytest.fixture
def world(db: None) -> World:
    return build_world()


def _words(client: Client, path: str, language: str) -> list[str]:
    response = client.get(path, headers={"Accept-Language": language})
    assert "Accept-Language" in response["Vary"], path
    return BLANKS.split(UNSEEN.sub(" ", response.content.decode()))


def _faults(english: list[str], german: list[str], *, typed: bool) -> Iterator[str]:
    """Words that are neither the same nor the same number in German marks, and numbers that kept English ones."""
    if len(english) != len(german):
        yield f"{len(english)} words became {len(german)}"
    for place, (word, read) in enumerate(zip(english, german, strict=False)):
        wanted = INNER.sub(lambda mark: mark[0].translate(GERMAN), word)
        number = word not in CITED and english[place - 1] != "Llama" and NUMBER.search(word)
        if read == word and number and not (typed and not GROUPED.search(word)):
            yield f"unmarked: {' '.join(english[max(0, place - 6) : place + 3])}"
        elif read not in (word, wanted) and not (typed and read == word.replace(",", NARROW)):
            yield f"{word} became {read}"


def test_every_page_has_the_same_numbers_in_the_readers_marks(world: World) -> None:
    client = signed_in(world.user)
    faults = []
    for name, path in (addresses(world) | {"lab": "/lab/?b_show=1&l_show=1"}).items():
        english, german = (_words(client, path, language) for language in ("en", "de-DE,en;q=0.8"))
        faults += [f"{name}: {fault}" for fault in _faults(english, german, typed=name in TYPED)]
    assert not faults, "\n".join(faults)


def test_scripts_are_told_the_marks_and_charts_have_them(world: World) -> None:
    client, path = signed_in(world.user), f"/reports/{world.done.pk}/"
    page = client.get(path, headers={"Accept-Language": "fr"}).content.decode()
    assert f'<html lang="en" data-decimal="," data-group="{NARROW}">' in page
    assert "mean 2,30" in page
    assert "data-decimal" not in client.get(path).content.decode()


@pytest.mark.parametrize("file", ["report.json", "report.xlsx", "tables/candidates.csv"])
def test_files_have_dot_decimals_for_every_reader(world: World, file: str) -> None:
    client, path = signed_in(world.user), f"/reports/{world.done.pk}/{file}"
    english, german = (client.get(path, headers={"Accept-Language": language}) for language in ("en", "de"))
    assert english.content == german.content
    assert "Accept-Language" not in german.get("Vary", "")


def test_fields_keep_what_the_server_reads(world: World) -> None:
    client = signed_in(world.user)
    page = client.get("/scenarios/new/?from=chat", headers={"Accept-Language": "de"}).content.decode()
    assert 'value="0.08"' in page
    assert f"0.0001 to 10{NARROW}000" in page
