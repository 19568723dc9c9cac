"""The checker of plain English: pages that must fail, pages that must pass, and counts that only shrink."""

from pathlib import Path

import pytest

from infra.settings import ROOT
from tests.docs.complexity import PRODUCT, modules
from tools.english import ratchet
from tools.english.__main__ import main
from tools.english.prose import of_markdown, of_openapi, of_python
from tools.english.rules import LONGEST, RULES, findings

DOCS = "docs"
MAY_SAY_NOBODY = 104
"""Lines of sources and decisions that break the rule `nobody`. Lower it when one is rewritten; never raise it."""
BROKEN = {
    "passive-by": "The list is read by a worker.",
    "future": "The job will stop after the next window.",
    "please": "Please add a header to the request.",
    "latin": "Use a relay, e.g. one of your own.",
    "easy": "To stop a job, simply call its address.",
    "in-order-to": "Set a key in order to repeat the call.",
    "and-or": "Give a subject and/or a body.",
    "exclamation": "The newsletter is on its way!",
    "headless-who": "What a provider refuses for the moment is tried again.",
    "whoever": "Whoever resumes a campaign means all its lists.",
    "nobody": "Without a terminal, nobody can be asked.",
    "came-of": "The log shows what became of a message.",
    "stands": "The recipient stands in an earlier row.",
    "goes": "The entry goes with its job.",
    "in-hand": "About 40 are in the hand of another redrive.",
    "by-name": "Name the state by name.",
    "alone": "The guard is for campaigns alone.",
    "told": "The rate is told on another page.",
    "heed": "The header is heeded.",
    "mend": "Mend the queue before the deploy.",
    "parted": "Write addresses parted by commas.",
    "word": "A provider\u2019s word can arrive late.",
    "looked": "The row is looked at once.",
    "has-it-done": "The API has it sent again.",
    "of-it": "Nothing of it has been sent.",
    "but-for": "All arrived but for ten.",
    "is-status": "A second call is 409 while the first runs.",
    "too": "Retry the others, too.",
    "semicolons": "Stop it; wait for the end; start it again.",
}
PLAIN = """\
# What it guarantees

You can call `stop` in any state. Messages that a worker claimed still go out.

What do you do if a message stays `unknown`? Retry it explicitly.

```sh
echo "please simply run whoever, e.g. nobody; a; b!"
```

| What is wrong with this list of rows | meaning |
|---|---|
| what is wrong with this row | a cell that only names something |
| `please will` | The address is not valid, for example because it has no `@`. |

Use version 2.0 for U.S. numbers. The API returns 409, and all of it rolls back. Search by default; stop by hand.
The worker checks the deadline just before the call.
The acronym SQS stands for a queue. The stand-by takes over. The job goes to the next lane.
"""


def broken(page: str) -> list[tuple[int, str]]:
    """Return line and rule of each finding on a page."""
    return [(found.line, found.rule) for sentence in of_markdown(page) for found in findings(sentence)]


def test_every_rule_has_a_page_that_breaks_it() -> None:
    assert set(BROKEN) == {rule.name for rule in RULES}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_page_that_breaks_a_rule_is_found_with_its_line(rule: str) -> None:
    assert broken(f"# Title\n\n- A plain line.\n- One more.\n  {BROKEN[rule]}\n") == [(5, rule)]


@pytest.mark.parametrize("rule", BROKEN)
def test_a_cell_that_breaks_a_rule_is_found_with_its_line(rule: str) -> None:
    assert broken(f"| a | b |\n|---|---|\n| x | y |\n| z | {BROKEN[rule]} |\n") == [(4, rule)]


def test_a_plain_page_has_no_findings() -> None:
    assert broken(PLAIN) == []


def test_the_longest_sentence_passes_and_one_more_word_does_not() -> None:
    longest = " ".join(["ProviderEvent"] * (LONGEST - 1) + ["`a code span`"])
    assert broken(f"Short. {longest}. Short.") == []
    assert broken(f"Short.\n{longest}\nmore. Short.") == [(2, "length")]


def test_an_abbreviation_does_not_end_a_sentence() -> None:
    assert [s.text for s in of_markdown("Compare no. 7 of J. Doe with it. Then stop.")] == [
        "Compare no. 7 of J. Doe with it.",
        "Then stop.",
    ]


def test_a_text_that_an_api_repeats_is_found_once_with_its_line() -> None:
    text = '"description": "Please say \\"why\\".",'
    document = f'{{\n "a": {{\n  {text}\n  "b": 1\n }},\n "c": {{\n  {text}\n  "d": 1\n }}\n}}'
    assert [(s.line, s.shown) for s in of_openapi(document)] == [(3, 'Please say "why".')]


MODULE = '''\
"""A queue. Please read
it whoever you are."""

LIMIT = 10
"""Nobody sends more."""


class Queue:
    """A queue.

    Args:
        please: simply a name.
        size: how many messages it holds, e.g. ten.
            This line goes on.

    Raises:
        OSError: it will close.
    """

    def send(self) -> None:
        """Send."""
        text = "please"  # please
'''


def test_the_docstrings_of_a_module_are_read_with_their_lines() -> None:
    found = [(x.line, x.rule) for sentence in of_python(MODULE) for x in findings(sentence)]
    assert sorted(found) == [
        (1, "please"),
        (1, "whoever"),
        (5, "nobody"),
        (12, "easy"),
        (13, "latin"),
        (14, "goes"),
        (17, "future"),
    ]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with two pages; the checker reads neither decisions nor the changelog."""
    (tmp_path / "docs" / "adr").mkdir(parents=True)
    for page in ("README.md", f"{DOCS}/stop.md"):
        (tmp_path / page).write_text("Please stop.\n\nPlease wait.\n", "utf-8")
    for page in ("CHANGELOG.md", f"{DOCS}/adr/a.md"):
        (tmp_path / page).write_text("Please stop!\n", "utf-8")
    return tmp_path


def test_a_page_may_break_a_rule_as_often_as_allowed(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = checkout / "allowed.json"
    ratchet.store(file, {"README.md": {"please": 2}, f"{DOCS}/stop.md": {"please": 1}})
    assert main([], root=checkout, file=file) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{DOCS}/stop.md:1: please: “Please”: leave it out",
        f"{DOCS}/stop.md:3: please: “Please”: leave it out",
        f"{DOCS}/stop.md: please: 2 findings, 1 allowed",
    ]


def test_a_count_that_is_too_high_fails_until_it_is_lowered(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = checkout / "allowed.json"
    ratchet.store(
        file, {"README.md": {"please": 3, "latin": 1}, f"{DOCS}/stop.md": {"please": 2}, "gone.md": {"too": 1}}
    )
    assert main([], root=checkout, file=file) == 1
    assert "README.md: please: 2 findings, 3 allowed: run `make english`" in capsys.readouterr().out
    assert main(["--lower"], root=checkout, file=file) == 0
    assert ratchet.load(file) == {"README.md": {"please": 2}, f"{DOCS}/stop.md": {"please": 2}}
    assert main([], root=checkout, file=file) == 0
    assert capsys.readouterr().out == ""


def test_no_count_is_ever_raised(checkout: Path) -> None:
    file = checkout / "allowed.json"
    ratchet.store(file, {"README.md": {"please": 1}})
    assert main(["--lower"], root=checkout, file=file) == 1
    assert ratchet.load(file) == {"README.md": {"please": 1}}


def test_all_findings_of_chosen_pages_are_printed(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--all", "README.md"], root=checkout) == 0
    assert [line.split(":")[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["README.md", "1"],
        ["README.md", "3"],
    ]


def test_the_pages_are_those_that_users_and_contributors_read() -> None:
    pages = ratchet.pages(ratchet.ROOT)
    assert {"README.md", "docs/api.md", "docs/runbooks/above-rate.md", "functions/api/openapi.json"} <= set(pages)
    assert {"shared/domain/times.py", "cli/main.py", "sdks/python/src/posthaste_sdk/__init__.py"} <= set(pages)
    assert [page for page in pages if "adr/" in page or page == "CHANGELOG.md"] == []


def test_every_page_with_allowed_counts_exists() -> None:
    assert set(ratchet.load(ratchet.ALLOWED)) <= set(ratchet.pages(ratchet.ROOT))


@pytest.mark.slow
def test_few_lines_of_sources_and_decisions_break_the_rule_nobody() -> None:
    (rule,) = (rule for rule in RULES if rule.name == "nobody")
    texts = [*modules(PRODUCT), *sorted((ROOT / DOCS / "adr").glob("*.md"))]
    found = [
        f"{path.relative_to(ROOT)}:{n}"
        for path in texts
        for n, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if rule.phrase.search(line)
    ]
    assert len(found) <= MAY_SAY_NOBODY, found
