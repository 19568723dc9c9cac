"""What the SDKs are made of: every operation that needs a key, by what the document says of it."""

import json
from typing import Any

import pytest

from functions.api.examples.parts import whole
from shared.web.problems import CODES
from tools.sdks import python, typescript
from tools.sdks.__main__ import DOCUMENT
from tools.sdks.document import SdkOperation, for_types, operations

pytestmark = pytest.mark.slow  # generates both SDKs


@pytest.fixture(scope="module")
def document() -> Any:
    return whole(json.loads(DOCUMENT.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def known(document: Any) -> dict[str, SdkOperation]:
    return {operation.name: operation for operation in operations(document)}


def test_every_operation_that_needs_a_key_is_in_both(document: Any, known: dict[str, SdkOperation]) -> None:
    listed = [x for methods in document["paths"].values() for x in methods.values()]
    needed = {x["operationId"] for x in listed if x.get("security") != [] and _answers(x)}
    assert set(known) == needed
    texts = python.module([*known.values()]), typescript.module([*known.values()])
    for name in needed:
        assert f"def {python.snake(name)}(" in texts[0]
        assert f"  {name}(" in texts[1]


def _answers(operation: Any) -> bool:
    """Whether an operation answers JSON; doors for other services' clients answer nothing."""
    return any("application/json" in x.get("content", {}) for k, x in operation["responses"].items() if k[0] == "2")


def test_an_operation_takes_a_key_where_the_document_says_so(document: Any, known: dict[str, SdkOperation]) -> None:
    for operation in known.values():
        asked = document["paths"][operation.path][operation.method.lower()].get("parameters", [])
        assert operation.keyed is any(x["name"] == "Idempotency-Key" for x in asked)
    assert known["createBatch"].keyed
    assert known["createHook"].keyed
    assert not known["createHookListener"].keyed


def test_every_list_with_a_cursor_or_a_link_has_an_iterator(known: dict[str, SdkOperation]) -> None:
    paged = {"listMessageUpdates"} | {
        x.name for x in known.values() if any(p.name == "cursor" for p in x.query) and x.name.startswith("list")
    }
    assert {x.name for x in known.values() if x.items} == paged
    assert len(paged) > 10
    assert "def iter_jobs(" in python.module([known["listJobs"]])
    assert "eachJobs(" in typescript.module([known["listJobs"]])
    assert {x.name for x in known.values() if x.array} == {"listMessageUpdates"}
    assert "array=True" in python.module([known["listMessageUpdates"]])
    assert "cursor" not in python.module([known["listJobs"]]).split("def iter_jobs(")[1].split("def ")[0]


def test_an_operation_returns_every_answer_that_it_may_have(document: Any, known: dict[str, SdkOperation]) -> None:
    several = {name: operation.answers for name, operation in known.items() if len(operation.answers) > 1}
    both = ("ExportReady", "ExportPreparing")
    assert several == dict.fromkeys(("exportBatch", "exportJob", "exportCampaign"), both)
    assert ") -> models.ExportReady | models.ExportPreparing:" in python.module([known["exportJob"]])
    assert 'Promise<Schemas["ExportReady"] | Schemas["ExportPreparing"]>' in typescript.module([known["exportJob"]])
    assert all("state" in document["components"]["schemas"][name]["required"] for name in both)


def test_a_delete_that_finds_nothing_when_repeated_knows_its_answer(known: dict[str, SdkOperation]) -> None:
    deletes = {name: operation.gone for name, operation in known.items() if operation.gone}
    things = ("Campaign", "Template", "Image", "DigestPolicy", "Hook", "Notifier", "Program")
    assert deletes == {
        **{f"delete{thing}": {"deleted": ""} for thing in things},
        "deleteSender": {"domain": "domain", "removed": ""},
    }
    assert 'gone={"domain": domain, "removed": True}' in python.module([known["deleteSender"]])
    assert "gone: { domain: domain, removed: true }" in typescript.module([known["deleteSender"]])


def test_text_that_is_no_json_can_be_sent_with_its_type(known: dict[str, SdkOperation]) -> None:
    made = python.module([known["putRecipients"]])
    assert "body: models.Recipients | str | bytes," in made
    assert 'media="text/csv"' in made
    assert 'media: "message/rfc822"' in typescript.module([known["postMail"]])


def test_words_of_python_are_no_names(known: dict[str, SdkOperation]) -> None:
    made = python.module([known["getStats"]])
    assert "from_: str | None = None," in made
    assert '"from": from_' in made


def test_types_take_what_a_later_version_adds() -> None:
    given = {"additionalProperties": False, "example": 1, "examples": [1], "a": [{"additionalProperties": {}}]}
    assert for_types(given) == {"a": [{"additionalProperties": {}}]}


def test_all_codes_of_errors_are_typed() -> None:
    for text in (python.codes(CODES), typescript.codes(CODES)):
        assert all(f'"{code}"' in text for code in CODES)
