"""Each block of the pages has a language; what is typed into a shell is typed by a test, or has a reason why not."""

from pathlib import Path

import pytest

from tests.deployed import guides
from tests.deployed.answers import Answers

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ["README", *sorted(file.relative_to(DOCS).with_suffix("").as_posix() for file in DOCS.rglob("*.md"))]
TESTS = Path(guides.__file__).parent
PROGRAMS = {"python", "js", "ts"}
DRAWN = {"mermaid"}


def read(name: str) -> list[guides.Fence]:
    return guides.fences(guides.page(name))


@pytest.mark.parametrize("name", [name for name in PAGES if not name.startswith("adr/")])
def test_each_block_of_a_page_has_a_language_and_a_test(name: str) -> None:
    kinds = {fence.kind for fence in read(name)}
    assert kinds <= {guides.SHELL, *guides.OUTPUT, *PROGRAMS, *DRAWN}
    assert not kinds & PROGRAMS or name in guides.RUN
    if guides.steps(guides.page(name)):
        test = "test_runbooks" if name.startswith("runbooks/") else guides.TYPED[name]
        named = "runbooks/{name}" if name.startswith("runbooks/") else name
        assert f'guides.page({"f" if named != name else ""}"{named}")' in (TESTS / f"{test}.py").read_text("utf-8")


def test_each_exception_is_of_a_block_that_exists() -> None:
    found = [fence for name in PAGES for fence in read(name)]
    begun = {begin for begin in guides.UNTYPED for x in found if x.kind == guides.SHELL and x.text.startswith(begin)}
    assert begun == set(guides.UNTYPED)
    assert {name for name in PAGES if {x.kind for x in read(name)} & PROGRAMS and name[:4] != "adr/"} == set(guides.RUN)
    assert all(guides.steps(guides.page(name)) for name in guides.TYPED)


def test_an_indented_block_is_found_and_one_without_an_end_is_an_error() -> None:
    text = "1. Do it:\n\n    ```sh\n    ls\n      a\n    ```\n\n   ```\n   x\n   ```\n"
    assert [(x.kind, x.text) for x in guides.fences(text)] == [("sh", "ls\n  a\n"), ("", "x\n")]
    assert guides.fences("~~~sh\nls\n~~~\n")[0].text == "ls\n"
    with pytest.raises(ValueError, match="line 2: the block has no end"):
        guides.fences("a\n```sh\nls\n")


def test_a_block_has_the_answer_that_follows_before_the_next_heading() -> None:
    call, answer = "```sh\nls\n```\n", "```text\nx\n```\n"
    assert guides.steps(f"{call}\nIt prints:\n\n{answer}") == [guides.Step("ls\n", "text", "x\n")]
    assert guides.steps(f"{call}\n## Next\n\n{answer}") == [guides.Step("ls\n")]
    assert guides.steps(f"{call}\n{call}\n{answer}") == [guides.Step("ls\n"), guides.Step("ls\n", "text", "x\n")]
    assert guides.steps("```sh\nmake up\n```\n") == []


ID, OTHER = "01m3250v00n197k5j0fjpyam13", "01m8czaczf59qzbwv1tazt4gg9"


@pytest.mark.parametrize(
    ("kind", "shown", "said"),
    [
        ("", "", ""),
        ("text", f"batch {ID} at 09:00:00\n…\ndone  1\n", f"batch {OTHER} at 10:30:00\na\nb\ndone      1\n"),
        ("text", "bar ━━━ 100%\n", "bar ━━━━━╺━━ 100%  \n"),
        ("json", f'{{"id": "{ID}", "n": 1, "more": "…"}}', f'{{"n":1,"more":[2],"id":"{OTHER}"}}'),
        ("json", '[{"a": 1}, "…"]', '[{"a":1},{"b":2}]'),
        ("json", '{"a": "x…z", "…": "…"}', '{"a":"xyz","b":null}'),
        ("json", "{} {}", "{}{}"),
    ],
)
def test_an_answer_of_the_same_form_is_the_pages(kind: str, shown: str, said: str) -> None:
    Answers().check(kind, shown, said)


@pytest.mark.parametrize(
    ("kind", "shown", "said"),
    [
        ("", "", "x\n"),
        ("text", "done\n", "done\nmore\n"),
        ("text", f"{ID} {ID}\n", f"{ID} {OTHER}\n"),
        ("json", '{"a": 1}', '{"a":1,"b":2}'),
        ("json", '{"a": 1, "b": 2}', '{"a":1}'),
        ("json", '{"a": 1}', '{"a":true}'),
        ("json", '["a"]', '["a","b"]'),
        ("json", '["a", "b", "…"]', '["a"]'),
        ("json", "{}", "{}{}"),
        ("json", '{"a": {"b": "x"}}', '{"a":{"b":"y"}}'),
    ],
)
def test_an_answer_of_another_form_is_not(kind: str, shown: str, said: str) -> None:
    with pytest.raises(AssertionError):
        Answers().check(kind, shown, said)


def test_an_id_of_a_page_stays_what_it_meant() -> None:
    answers = Answers()
    answers.check("json", f'{{"id": "{ID}"}}', f'{{"id": "{OTHER}"}}')
    assert answers.filled(f"show {ID}") == f"show {OTHER}"
    answers.check("text", f"{ID}\n", f"{OTHER}\n")
    with pytest.raises(AssertionError):
        answers.check("text", f"{ID}\n", f"{ID}\n")


def test_what_runs_on_aws_only_says_why() -> None:
    marked = [guides.MARK.findall(file.read_text("utf-8")) for file in DOCS.rglob("*.md")]
    reasons = [reason for found in marked for reason in found]
    assert reasons
    assert all(len(reason.split()) > 4 for reason in reasons), reasons


def test_commands_are_found_with_their_marks() -> None:
    text = "A\n\n<!-- only on AWS: it needs an account -->\n\n```sh\naws x\n```\n\n```sh\nls\n```\n\n```json\n{}\n```\n"
    assert guides.blocks(text) == [guides.Commands("aws x\n", "it needs an account"), guides.Commands("ls\n", "")]
    assert guides.local(text) == ["ls\n"]
    line = "Run `posthaste doctor`, or `make up`. "
    line += "`posthaste logs --job JOB` <!-- only on AWS: it needs an account -->\n"
    assert [x.text for x in guides.spans(line)] == ["posthaste doctor", "posthaste logs --job JOB"]
    assert all(x.reason for x in guides.spans(line))
    assert guides.filled("x --job JOB $JOB [JOB, B] JOBS", {"JOB": "1"}) == "x --job 1 $JOB [JOB, B] JOBS"
