"""The page of costs is what the meter printed, and the README says the same."""

import re
from pathlib import Path

import pytest

from benchmarks.__main__ import COST, MARK, PERFORMANCE, REST_MARK, ROOT, SINGLES_MARK, STEADY_MARK, insert, printed
from benchmarks.bills import told
from benchmarks.counting import express, rest
from benchmarks.counting.cost import Way
from cli.checks import account
from infra.schema import MIN_WORKERS
from infra.settings import MESSAGES_PER_WORKER
from tests.engine.fairness import LATENCY

PRICE = re.compile(r"\$(\d+\.\d\d)\b")


def test_what_was_printed_is_read_again_and_nothing_else_is_changed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"above\n\n{MARK}\n| old |\n{MARK}\nbelow\n", encoding="utf-8")
    insert(page, "| new |\n| 1 |")
    assert printed(page) == "| new |\n| 1 |"
    assert page.read_text("utf-8") == f"above\n\n{MARK}\n| new |\n| 1 |\n{MARK}\nbelow\n"


def test_a_page_without_its_markers_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{MARK} once", encoding="utf-8")
    with pytest.raises(ValueError, match=r"page\.md lacks its markers"):
        insert(page, "x")


def _totals() -> dict[tuple[str, str, str], str]:
    """Return the totals of the page by shape, rate and events."""
    rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in printed(COST).splitlines()]
    assert rows[0][:3] == ["shape", "rate", "events"]
    for row in rows[2:]:
        *lines, total, _ = row[3:]
        assert sum(map(float, lines)) == pytest.approx(float(total), abs=0.05)
    return {(row[0], row[1], row[2]): row[-2] for row in rows[2:]}


def _of(totals: dict[tuple[str, str, str], str], shape: str, way: Way, rate: str = "1,000 a second") -> str:
    return totals[shape, rate, way.value]


def test_lines_add_up_and_the_readme_names_the_same_totals() -> None:
    totals = _totals()
    batches = [_of(totals, told.PLAIN, way) for way in (Way.BATCHED, Way.POSTS, Way.OWN)]
    singles = [_of(totals, "single message", Way.POSTS, rate) for rate in ("ten at a time", "by itself")]
    shared = [_of(totals, told.LARGE, Way.BATCHED), _of(totals, told.CAMPAIGN, Way.BATCHED)]
    at_rest = _rest("2 credentials of 2 providers")
    readme = re.search(r"## What it costs\n\n(.*)", (ROOT / "README.md").read_text("utf-8"))
    assert readme
    assert PRICE.findall(readme[1]) == [batches[0], shared[0], *batches[1:], shared[1], *singles, *at_rest]


def test_the_guide_of_a_first_deployment_names_the_same_prices() -> None:
    totals = _totals()
    page = re.search(r"## What it costs\n\n(.*)", (ROOT / "docs" / "first-deploy.md").read_text("utf-8"))
    assert page
    at_rest, least, most = _rest("1 credential of 1 provider")
    batches = [_of(totals, told.PLAIN, way) for way in (Way.BATCHED, Way.POSTS)]
    alone = [_of(totals, "single message", Way.POSTS, rate) for rate in ("ten at a time", "by itself")]
    assert PRICE.findall(page[1]) == [least, most, at_rest, *batches, *alone]


def test_each_shape_is_told_at_both_rates_and_for_the_ways_of_its_events() -> None:
    rates: dict[str, set[str]] = {}
    ways: dict[str, set[str]] = {}
    for shape, rate, way in _totals():
        rates.setdefault(shape, set()).add(rate)
        ways.setdefault(shape, set()).add(way)
    assert {shape for shape, some in rates.items() if len(some) < 2} == {told.LARGE}
    assert ways["single message"] == {way.value for way in Way}
    assert ways[told.PLAIN] == {way.value for way in Way} - {Way.NONE.value}
    assert Way.OWN.value in ways["notice (text message)"]


def _rest(deployment: str) -> list[str]:
    """Return what a deployment costs at rest, and at least and at most with what watches it."""
    rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in printed(COST, REST_MARK).splitlines()]
    column = rows[0].index(deployment)
    return [row[column] for row in rows if row[0].startswith(("at rest", "with alarms"))]


def test_no_page_has_a_price_that_the_page_of_costs_lacks() -> None:
    known = set(re.findall(r"\d+\.\d\d\b", COST.read_text("utf-8")))
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "runbooks").glob("*.md")]
    found = {(page.name, price) for page in pages for price in PRICE.findall(page.read_text("utf-8"))}
    assert len({name for name, _ in found}) > 1, "no page but that of costs has prices"
    assert {(name, price) for name, price in found if price not in known} == set()


@pytest.mark.slow
def test_the_page_has_the_counted_figures() -> None:
    _, bills = told.costs()
    assert printed(COST) == told.markdown(bills)
    assert printed(COST, REST_MARK) == rest.markdown()
    assert printed(COST, STEADY_MARK) == told.steady(bills)


@pytest.mark.slow
def test_the_page_has_what_express_workers_send_and_the_doctor_goes_by_it() -> None:
    assert [(row.name, row.met) for row in express.measure() if not row.met] == []
    assert printed(PERFORMANCE, SINGLES_MARK) == express.markdown()
    assert express.per_worker(LATENCY) > account.SINGLES_PER_WORKER, "the processor bounds them, not what they wait for"


@pytest.mark.parametrize(
    "page", ["settings.md", "first-deploy.md", "runbooks/function-throttles.md", "runbooks/singles-late.md"]
)
def test_pages_say_how_many_messages_of_each_kind_a_worker_sends(page: str) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    large, single = MESSAGES_PER_WORKER, account.SINGLES_PER_WORKER
    assert f"A worker sends about {large:,} messages a second of large jobs, and about {single} single ones" in text
    assert "performance.md#single-messages" in text


def test_the_guide_of_a_first_deployment_says_what_the_default_workers_send() -> None:
    most = MIN_WORKERS * account.SINGLES_PER_WORKER
    assert f"more than {most} single messages a second" in (ROOT / "docs" / "first-deploy.md").read_text("utf-8")
