"""`posthaste account depart` and `arrive`: an account goes from one stage to another in a file."""

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest

from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.cells.moves import QUIET_MS
from shared.contracts import (
    ENV_AUDIT_TABLE,
    ENV_IDENTITIES_TABLE,
    ENV_OPS_TABLE,
    ENV_RECORDS_TABLE,
)
from tests.cli.fakes import FakeClock, Run
from tests.cli.operators import OperatorsFunction
from tests.fakes.tables import Tables, create_tables

pytestmark = [pytest.mark.usefixtures("aws"), pytest.mark.slow]


class OtherCell:
    """Says by `status` whether a cell has a key."""

    def __init__(self) -> None:
        self.status = 404
        self.asked: list[str] = []
        cell = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                cell.asked.append(self.path)
                self.send_response(cell.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def other() -> Iterator[OtherCell]:
    cell = OtherCell()
    yield cell
    cell.server.shutdown()
    cell.server.server_close()
    cell.thread.join()


def variables(tables: Tables) -> Mapping[str, str]:
    return {
        ENV_RECORDS_TABLE: tables.records,
        ENV_OPS_TABLE: tables.ops,
        ENV_IDENTITIES_TABLE: tables.homes.identities,
        ENV_AUDIT_TABLE: tables.homes.audit,
    }


class Stages:
    """Two stages, of which the operators' function serves one."""

    def __init__(self, operators: OperatorsFunction, clock: FakeClock) -> None:
        self.operators, self.clock = operators, clock
        self.client = boto3.client("dynamodb", region_name="us-east-1")
        self.old, self.new = create_tables(self.client), create_tables(self.client)
        self.account = self.accounts(self.old).create_account("Ann & Co", ["example.com"])
        self.secret, _ = self.accounts(self.old).create_key(self.account)
        self.at(self.old)

    def accounts(self, tables: Tables) -> Accounts:
        return Accounts(self.client, tables.records, self.clock, homes=tables.homes)

    def at(self, tables: Tables) -> None:
        self.operators.variables = variables(tables)


@pytest.fixture
def stages(aws: None, operators: OperatorsFunction, clock: FakeClock) -> Stages:
    return Stages(operators, clock)


def begun(run: Run, stages: Stages, other: OtherCell, file: Path) -> None:
    """Move an account into a file."""
    done = run("account", "depart", stages.account, str(file), "--to", other.url, "--yes")
    assert (done.code, f"posthaste account arrive {file}" in done.out) == (0, True), done.err


def test_an_account_goes_from_one_stage_to_the_other(
    run: Run, stages: Stages, other: OtherCell, tmp_path: Path, clock: FakeClock
) -> None:
    file = tmp_path / "ann.jsonl"
    before = clock.now()
    begun(run, stages, other, file)
    assert clock.now() - before >= QUIET_MS / 1000
    assert file.stat().st_mode & 0o077 == 0
    assert not list(tmp_path.glob("*.part"))
    other.status = 404
    early = run("account", "depart", stages.account, str(file), "--left", "--yes")
    assert (early.code, "lacks a key of the account" in early.err) == (1, True)
    stages.at(stages.new)
    assert "has arrived" in run("account", "arrive", str(file)).out
    assert run("account", "arrive", str(file), "--json").json["put"] == 0
    stages.at(stages.old)
    other.status = 204
    left = run("account", "depart", stages.account, str(file), "--left", "--yes")
    assert (left.code, "is gone from here" in left.out) == (0, True), left.err
    assert other.asked[-1].startswith("/cells/callers/")
    stages.at(stages.new)
    opened = run("account", "arrive", str(file), "--open")
    assert (opened.code, "not as a cell does" in opened.err) == (1, True)
    head, *rest = file.read_text().splitlines()
    file.write_text("\n".join([json.dumps({**json.loads(head), "origin": other.url}), *rest]) + "\n")
    still = run("account", "arrive", str(file), "--open")
    assert (still.code, "still has the account" in still.err) == (1, True)
    other.status = 404
    opened = run("account", "arrive", str(file), "--open")
    assert (opened.code, "is open here" in opened.out) == (0, True), opened.err
    assert "was open already" in run("account", "arrive", str(file), "--open").out
    assert stages.accounts(stages.new).find_by_key(stages.secret) is not None
    assert stages.accounts(stages.old).find_by_key(stages.secret) is None
    stages.at(stages.old)
    again = run("account", "depart", stages.account, str(file), "--again", "--json")
    assert (again.code, again.json["items"]) == (0, 0), again.err
    actions = [x["action"] for x in run("audit", stages.account, "--json").lines]
    assert {"account.moving", "account.moved"} <= {*actions}


def test_a_move_is_cancelled(run: Run, stages: Stages, other: OtherCell, tmp_path: Path) -> None:
    begun(run, stages, other, tmp_path / "ann.jsonl")
    assert "stays here" in run("account", "depart", stages.account, "--cancel").out
    assert "did not move" in run("account", "depart", stages.account, "--cancel").out
    found = stages.accounts(stages.old).get(stages.account)
    assert found is not None
    assert not found.suspended


def test_a_file_that_was_cut_or_is_another_is_refused(
    run: Run, stages: Stages, other: OtherCell, tmp_path: Path
) -> None:
    file = tmp_path / "ann.jsonl"
    begun(run, stages, other, file)
    lines = file.read_text().splitlines()
    for text in ("\n".join(lines[:-1]), "{}", "", "nonsense", '["x"]'):
        file.write_text(text)
        done = run("account", "arrive", str(file))
        assert (done.code, str(file) in done.err) == (2, True)
    assert run("account", "arrive", str(tmp_path / "none")).code == 2


def test_a_cell_that_does_not_answer_changes_nothing(
    run: Run, stages: Stages, other: OtherCell, tmp_path: Path
) -> None:
    file = tmp_path / "ann.jsonl"
    begun(run, stages, other, file)
    text = file.read_text().replace(other.url, "http://127.0.0.1:9")
    file.write_text(text)
    done = run("account", "depart", stages.account, str(file), "--left", "--yes")
    assert (done.code != 0, "does not answer" in done.err) == (True, True)
    found = stages.accounts(stages.old).get(stages.account)
    assert found is not None
    assert found.place.value == "moving"


@pytest.mark.parametrize("words", [(), ("--to", "https://b.example.com", "--cancel"), ("--left",)])
def test_wrong_uses_are_refused(run: Run, stages: Stages, words: tuple[str, ...]) -> None:
    assert run("account", "depart", stages.account, *words, "--yes").code == 2
