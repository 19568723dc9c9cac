"""The menu: it leads to pages that exist, says where one is, and shows operators' pages to operators alone."""

import re

import pytest

from functions.console import menu
from functions.console.menu import MENU, Section
from functions.console.screens import ROUTES
from shared.domain.people import Identity, Role
from tests.console.console import Console

SECTIONS = [section for _, sections in MENU for section in sections]


def test_every_section_is_a_page() -> None:
    pages = {route.path for route in ROUTES if route.method == "GET"}
    assert {f"/console/{section.path}" for section in SECTIONS} <= pages
    assert len({section.label for section in SECTIONS}) == len(SECTIONS)


@pytest.mark.slow
def test_a_page_says_which_section_it_belongs_to(console: Console) -> None:
    console.member()
    for section in SECTIONS:
        if not section.operators:
            page = console.shown(section.path.removeprefix(menu.ACCOUNT))
            current = re.findall(r'aria-current="page">([^<]+)</a>', page)
            assert current == [section.label] * 2, "once for phones, once beside the page"


def test_what_a_role_may_not_read_is_not_in_its_menu(console: Console) -> None:
    console.member(role=Role.VIEWER)
    shown = console.shown()
    assert ">Suppressions<" in shown
    assert ">Audit log<" not in shown


@pytest.mark.slow
def test_operators_pages_are_in_the_menu_of_operators_alone(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(menu, "MENU", (*MENU, ("Run", (Section("Everywhere", "everywhere", operators=True),))))
    console.member()
    assert "Everywhere" not in console.shown()
    console.sign_in(Identity("github", "3", "Olga"))
    accounts = console.get("").text
    assert 'href="console/everywhere"' in accounts, "without an account, too"
    assert ">Overview<" not in accounts


def test_who_has_not_signed_in_sees_no_menu(console: Console) -> None:
    assert "<nav" not in console.get("/sign-in").text
