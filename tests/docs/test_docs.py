"""What the documentation names is there: pages and their headings, files, targets of make, commands and options.

The calls that docs/campaigns.md shows are made in tests/api/test_guide.py; docs/operations.md and the runbooks are
compared with the alarms in tests/infra/test_monitoring.py.
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import jmespath
import pytest

from functions.api.error_page import OF_WEBHOOKS, WEBHOOK_CODES, markdown
from shared.domain.accounts import REQUEST_BURST, REQUEST_RATE, TEST_SHARE, Scope
from shared.providers.test.send import FATES, NUMBERS
from shared.web.problems import CODES
from tests.cli.tree import root
from tests.mutants.catalogue import MUTANTS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/*.md")])
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
ANCHOR = re.compile(r'<a id="([^"]+)">')
TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)
FILE = re.compile(r"^(?:tests|shared|functions|infra|cli|examples|benchmarks|simulator|docs)/[\w./-]*[\w/]$")
EXTERNAL = ("http://", "https://", "mailto:")
WORD = re.compile(r"[a-z][a-z-]*")

OF_CODE = re.compile(r"(?<![\w/.])docs/(?:adr/[0-9]{4}\b[a-z-]*|[a-z/-]+\.md)")
COMMAND = re.compile(r"(?:^|\. |bin/)posthaste ([^|#]*)")
SHOWN = re.compile(r"(?:^|[\"`>'])posthaste ([^\"`<'|#\n]*)", re.MULTILINE)
"""A command that a page of the console, or a message of the command itself, has its reader type."""
INSTALL = re.compile(r"\b(?:pipx?|npm|uv|yarn|pnpm) (?:\w+ )?(?:install|add|i|run) ")
EXAMPLES = {"shared/providers/example_mail/send.py"}
"""What docs/adding-a-provider.md has its reader write."""


@cache
def read(page: Path) -> str:
    """Return the text of a page."""
    return page.read_text("utf-8")


def prose(page: Path) -> str:
    """Return a page without its fenced code."""
    return FENCE.sub("", read(page))


def code(page: Path) -> Iterator[str]:
    """Yield what a page shows as code: each span, and each line of fenced code."""
    for block in FENCE.findall(read(page)):
        yield from block.replace("\\\n", " ").splitlines()[1:-1]
    yield from SPAN.findall(prose(page))


@cache
def sources() -> tuple[str, ...]:
    """Return the texts of all code."""
    folders = ("benchmarks", "cli", "examples", "functions", "infra", "shared", "simulator", "tests")
    return tuple(file.read_text("utf-8") for folder in folders for file in (ROOT / folder).rglob("*.py"))


@cache
def anchors(page: Path) -> set[str]:
    """Return what a link into a page may name: its headings, as GitHub spells them, and its own anchors."""
    found: set[str] = set(ANCHOR.findall(prose(page)))
    for heading in HEADING.findall(prose(page)):
        plain = re.sub(r"[^\w\- ]", "", LINK.sub("]", heading).lower())
        found.add(plain.replace(" ", "-"))
    return found


def test_every_link_leads_somewhere() -> None:
    dead = []
    for page in PAGES:
        for link in LINK.findall(prose(page)):
            if not link.startswith(EXTERNAL):
                path, _, anchor = link.partition("#")
                to = (page.parent / path).resolve() if path else page
                if not to.exists() or (anchor and anchor not in anchors(to)):
                    dead.append((page.name, link))
    assert dead == []


def test_every_file_that_is_named_exists() -> None:
    words = {word for page in PAGES for text in code(page) for word in text.split() if FILE.match(word)}
    assert {word for word in words - EXAMPLES if not (ROOT / word).exists()} == set()
    assert "tests/deployed/kills.py" in words


def test_every_target_of_make_exists() -> None:
    targets = set(TARGET.findall((ROOT / "Makefile").read_text("utf-8")))
    named = {found[1] for page in PAGES for text in code(page) if (found := re.match(r"make ([a-z-]+)", text))}
    assert named - targets == set()
    assert "run" in named


def test_every_command_and_option_of_it_exists() -> None:
    lines = {line for page in PAGES for text in code(page) for line in COMMAND.findall(text)}
    assert {line for line in lines if not known(line.split())} == set()
    assert "redrive QUEUE" in lines


def test_every_command_that_the_console_or_a_message_of_the_command_shows_exists() -> None:
    console = sorted((ROOT / "functions" / "console").rglob("*.html"))
    assert {line for page in console for line in SHOWN.findall(read(page)) if not known(line.split())} == set()
    command = sorted((ROOT / "cli").rglob("*.py"))
    quoted = {line for file in command for line in re.findall(r"`posthaste ([^`{]+)", read(file))}
    assert {line for line in quoted if not known(line.split())} == set()
    assert any("redrive" in line for page in console for line in SHOWN.findall(read(page)))


def known(words: list[str]) -> bool:
    """Return whether `posthaste` has the command, and the command the options."""
    command = root()
    while hasattr(command, "commands") and words and WORD.fullmatch(words[0]):
        if words[0] not in command.commands:
            return False
        command = command.commands[words[0]]
        words = words[1:]
    options = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    return all(word.split("=")[0] in options for word in words if word.startswith("--"))


def test_packages_of_ours_are_installed_from_their_files() -> None:
    readmes = [ROOT / "packages/cli/README.md", ROOT / "sdks/python/README.md", ROOT / "sdks/typescript/README.md"]
    installing = [
        (page.relative_to(ROOT).as_posix(), line)
        for page in [*PAGES, *readmes]
        for line in code(page)
        if INSTALL.search(line) and "posthaste" in line
    ]
    assert {page for page, _ in installing} >= {"docs/cli.md", "docs/sdks.md", "packages/cli/README.md"}
    assert [x for x in installing if not re.search(r" dist/posthaste[_-]", x[1])] == [], "anyone can take a name"


def test_every_operation_is_on_the_page_of_the_api() -> None:
    page = read(ROOT / "docs" / "api.md")
    paths = json.loads((ROOT / "functions" / "api" / "openapi.json").read_text("utf-8"))["paths"]
    assert [path for path in paths if not is_told(path, page)] == []


def is_told(path: str, page: str) -> bool:
    """Return whether a page has a path, maybe without its beginning: `…/messages`, `/retry`."""
    ends = "|".join(re.escape(path[slash.start() :]) for slash in re.finditer("/", path))
    return re.search(rf"[`…](?:[A-Z]+ )?(?:…?)(?:{ends})[`? ]", page) is not None


@pytest.mark.slow
def test_every_promise_has_a_test_and_every_test_a_promise() -> None:
    told = {int(number) for number in re.findall(r"^\| (\d+) \|", read(ROOT / "docs" / "promises.md"), re.MULTILINE)}
    marked = {int(number) for file in sources() for number in re.findall(r"mark\.promise\((\d+)\)", file)}
    assert marked == told


def test_every_setting_is_on_their_page() -> None:
    named = set(SPAN.findall(prose(ROOT / "docs" / "settings.md")))
    told = {"Posthaste": "", "CredentialFields": "", "Retention": "retention."}
    fields = [
        told[group.name] + line.target.id
        for group in ast.parse(read(ROOT / "infra" / "schema.py")).body
        if isinstance(group, ast.ClassDef) and group.name in told
        for line in group.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    ]
    assert {"stage", "rate", "retention.jobs_days"} <= set(fields)
    assert [field for field in fields if field != "retention" and field not in named] == []


def test_upgrading_names_everything_that_the_changelog_wants_done_before_the_deploy() -> None:
    unreleased = read(ROOT / "CHANGELOG.md").split("\n## [")[1]
    wanted = re.findall(r"\*\*Before you upgrade\*\*(.+?)[:;.] ", unreleased)
    steps = read(ROOT / "docs" / "upgrading.md").partition("## How to upgrade")[2]
    before = steps[: steps.index("npx cdk deploy")]
    names = [name for sentence in wanted for name in SPAN.findall(sentence)]
    assert len(names) >= len(wanted) == unreleased.lower().count("before you upgrade")
    assert [name for name in names if f"`{name}`" not in before and f"/{name}`" not in before] == []


def test_the_page_of_the_api_has_the_rates_the_scopes_and_the_recipients_of_test_keys() -> None:
    page = read(ROOT / "docs" / "api.md")
    assert f"{REQUEST_RATE:.0f} requests per second and account, {REQUEST_BURST:,} at once" in page
    assert f"a fifth of that, {REQUEST_RATE / TEST_SHARE:.0f} and {REQUEST_BURST // TEST_SHARE}" in page
    (scopes,) = re.findall(r"A key has scopes: (.*?)\. A call", page)
    assert set(SPAN.findall(scopes)) == {scope.value for scope in Scope}
    (people,) = re.findall(r"Magic recipients: (.*?)\. These", page)
    assert [name for name in FATES if f"`{name}@" not in people] == []
    first = min(NUMBERS)
    ends = [f"`{first}`" if number == first else f"`…{number[-2:]}`" for number in NUMBERS]
    assert [end for end in ends if end not in people] == []
    assert "**HTML is not sanitised.**" in page


@pytest.mark.slow
def test_every_page_that_the_code_names_exists() -> None:
    found = {page for file in sources() for page in OF_CODE.findall(file)}
    assert "docs/adr/0024" in found
    assert {page for page in found if not [*ROOT.glob(f"{page}*")]} == set()


def test_the_number_of_a_decision_is_that_of_its_file() -> None:
    pages = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
    assert len(pages) > 100
    wrong = [page.name for page in pages if not read(page).startswith(f"# {int(page.name[:4])}. ")]
    assert wrong == []


def test_the_documented_number_of_sabotages_is_right() -> None:
    told = re.search(r"applies over (\d+) named sabotages", read(ROOT / "docs" / "promises.md"))
    assert told
    assert len(MUTANTS) > int(told[1])


def test_the_page_of_errors_has_every_code_with_its_status_and_meaning() -> None:
    page = read(ROOT / "docs" / "errors.md")
    api, webhooks = page.partition("## Webhooks of providers")[::2]
    row = re.compile(r"^\| (\d{3}) \| <a id=\"([a-z0-9_]+)\"></a>`([a-z0-9_]+)` \| (.+) \|$", re.MULTILINE)
    for part, codes, prefix in ((api, CODES, ""), (webhooks, WEBHOOK_CODES, OF_WEBHOOKS)):
        found = {code: (int(status), said) for status, _, code, said in row.findall(part)}
        assert found == dict(codes)
        assert [anchor for _, anchor, _, _ in row.findall(part)] == [f"{prefix}{code}" for code in codes]
    assert page == markdown(page), "run: python -m functions.api.error_page"


@pytest.mark.parametrize("file", PAGES, ids=lambda x: x.name)
def test_every_query_of_the_aws_command_line_is_jmespath(file: Path) -> None:
    text = re.sub(r"\\\n\s*", " ", file.read_text(encoding="utf-8"))
    for double, single, bare in re.findall(r"--query (?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s'\"`)|]+))", text):
        jmespath.compile(re.sub(r"\$\w+", "x", double or single or bare))
