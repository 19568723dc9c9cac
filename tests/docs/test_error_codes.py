"""Every code of a refusal that the source has is a row of the page of errors, and has its meaning once."""

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

from functions.api.detail_codes import DETAIL_CODES, LISTS, MAILS, MESSAGES, ROWS, TEMPLATES
from functions.api.error_page import TABLES, as_html
from infra.local.paths import ROOT
from shared.domain.channels.lookup import CHANNELS
from shared.domain.content.templates import FaultCode
from shared.domain.jobs.details import LOST
from shared.domain.jobs.job import StopReason
from shared.domain.jobs.outcomes import ERASED, NOT_A_GUEST
from shared.domain.lanes.meanings import OURS
from shared.domain.lists.header import FileCode
from shared.domain.lists.rows import RowCode
from shared.domain.lists.uploads import DUPLICATE
from shared.domain.notices.codes import SAYS, Failure, Rejection
from shared.domain.recipients.addresses import InvalidCode
from shared.domain.recipients.phones import InvalidPhone
from shared.domain.recipients.suppressions import CODES as SUPPRESSIONS
from shared.domain.spending.limits import BARRED
from shared.domain.workbooks.bounds import WorkbookCode
from shared.engine.lists.ingest import Code
from shared.engine.lists.uploading import WITHDRAWN

SNAKE: Final = re.compile(r"[a-z][a-z0-9_]+")
RECIPIENTS: Final = {*InvalidCode, InvalidPhone("").code}
COMPOSED: Final = "shared/engine/lane/compose.py"
ENDED: Final = "shared/engine/reports/attempts.py"
MAIL_SERVICE: Final = "shared/engine/mails/service.py"


def literals(path: str, *, calls: str = "", returned_by: tuple[str, ...] = ()) -> set[str]:
    """Return the codes that a module spells out.

    Args:
        path: of the module.
        calls: the class whose first argument is a code.
        returned_by: functions that return codes.
    """
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    found = {text for call in _calls(tree, calls) for text in _texts(call.args[:1])}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name in returned_by:
            returns = [x.value for x in ast.walk(function) if isinstance(x, ast.Return) and x.value is not None]
            found |= set(_texts([part for value in returns for part in _branches(value)]))
    return found


def _calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def _branches(value: ast.expr) -> list[ast.expr]:
    return [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]


def _texts(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SNAKE.fullmatch(node.value):
            yield node.value


def field_codes(folder: str) -> set[str]:
    """Return the codes of fields that a folder's modules spell out."""
    found: set[str] = set()
    for file in sorted((ROOT / folder).rglob("*.py")):
        for call in _calls(ast.parse(file.read_text("utf-8")), "FieldFault"):
            found |= set(_texts([*call.args[2:3], *(x.value for x in call.keywords if x.arg == "code")]))
    return found


def test_every_code_of_a_list_and_of_its_rows_has_a_row() -> None:
    assert set(LISTS) == {*FileCode, *Code, *WorkbookCode, WITHDRAWN}
    assert set(ROWS) == {*RowCode, *RECIPIENTS, DUPLICATE}


@pytest.mark.slow
def test_every_code_of_a_template_and_of_a_mail_has_a_row() -> None:
    spelled = field_codes("shared/engine")
    assert {"unknown_name", "header_not_allowed"} <= spelled
    assert {*FaultCode} <= set(TEMPLATES)
    assert literals("shared/domain/mails/message.py", calls="MessageRefusal") <= set(MAILS)
    assert spelled <= set(TEMPLATES) | set(MAILS)
    assert set(TEMPLATES) - {*FaultCode} <= spelled


def test_every_code_of_a_message_has_a_row_and_words_in_the_command() -> None:
    composed = literals(COMPOSED, calls="CannotCompose", returned_by=("_fault",))
    ended = literals(ENDED, returned_by=("_exhausted",))
    assert {"subject_missing", "message_too_large"} <= composed
    too_long = {channel.too_long for channel in CHANNELS.values() if channel.too_long}
    gone = {StopReason.KEY_REVOKED, StopReason.SENDER_REMOVED}
    known = {
        *SUPPRESSIONS.values(),
        *gone,
        NOT_A_GUEST,
        BARRED,
        ERASED,
        LOST,
        *RECIPIENTS,
        *composed,
        *ended,
        *too_long,
    }
    assert known <= set(MESSAGES)
    assert set(MESSAGES) - known == {"withdrawn", "expired"}
    assert set(OURS) == set(MESSAGES)


def test_every_code_of_a_notice_has_a_row() -> None:
    assert set(SAYS) == {*Rejection, *Failure}


def test_every_anchor_is_there_once_on_both_pages() -> None:
    wanted = [prefix + code for prefix, codes in TABLES.values() for code in codes]
    wanted += [prefix + code for prefix, codes in DETAIL_CODES.values() for code in codes]
    page = (ROOT / "docs" / "errors.md").read_text("utf-8")
    assert re.findall(r'<a id="(\w+)">', page) == wanted == re.findall(r'<tr id="(\w+)">', as_html())
    assert len(set(wanted)) == len(wanted)
    for heading in (*TABLES, *DETAIL_CODES):
        assert f"\n## {heading}\n" in page
