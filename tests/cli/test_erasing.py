import json
import re
from typing import Any

import boto3
import pytest

from cli.operating.erasing import ARCHIVE, DONE, LISTS, MESSAGES
from functions.operate.personal import erasing
from functions.operate.personal.erasing import EraseStep
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.erasure.erasing import Eraser
from shared.adapters.dynamo.erasure.report import Erased
from shared.adapters.dynamo.erasure.scanned import SCAN
from shared.adapters.dynamo.recipients.guests import Guests
from shared.adapters.dynamo.recipients.suppressions import Suppressions
from shared.contracts import ENV_BUCKET
from tests.cli.conftest import TABLE, everything_stored
from tests.cli.fakes import FakeClock, Run
from tests.cli.operators import OperatorsFunction

pytestmark = pytest.mark.usefixtures("aws", "bucket")
PERSON = "Ann@example.org"


@pytest.fixture
def bucket(aws: None, operators: OperatorsFunction) -> None:
    boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="dev-bucket")
    operators.variables = {ENV_BUCKET: "dev-bucket"}


def suppressed(clock: FakeClock, key: str = PERSON.lower()) -> str:
    """Suppress the person in an account of their own; return its id."""
    client = boto3.client("dynamodb", region_name="us-east-1")
    account = Accounts(client, TABLE, clock).create_account("Ann & Co")
    Suppressions(client, TABLE, clock).put(account, key, "bounced")
    return account


def test_a_question_about_many_accounts_counts_nothing_before(
    run: Run, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    suppressed(clock)
    monkeypatch.setattr(erasing, "LOOK_SECONDS", 0)
    monkeypatch.setattr(Eraser, "lists", None)
    asked = run("erase", PERSON, input="n\n", terminal=True)
    assert (asked.code, "Erase this person (entries of 1 account are not counted yet; and" in asked.err) == (1, True)


@pytest.mark.slow
def test_erasure_reports_findings_and_leftovers_and_records_the_actor(run: Run, clock: FakeClock) -> None:
    account = suppressed(clock)
    assert run("erase", PERSON).code == 2
    asked = run("erase", PERSON, input="n\n", terminal=True)
    assert asked.code == 1
    assert "Erase this person (suppressions: 1; and what messages and lists have of them) in all" in asked.err
    assert "of stage dev, AWS" in asked.err
    assert " items, 0 MB, about 1 read unit and less than a minute; --dry-run counts them first\n" in asked.err
    assert PERSON.lower() in everything_stored()
    looked = run("erase", PERSON, "--dry-run", "--json").json
    assert (looked["dry_run"], looked["erased"]) == (True, {"suppressions hashed": 1})
    assert PERSON.lower() in everything_stored()
    assert run("audit").out == ""
    done = run("erase", PERSON, "--yes")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert (done.code, lines[2:4]) == (
        0,
        ["count what done", "1 suppressions address replaced by its hash; still respected"],
    )
    assert "stays for now how long what you do" in lines
    assert "backups of the tables 35 days after a restore, erase again" in lines
    assert PERSON.lower() not in everything_stored().lower()
    erased, added = "person.erased", "suppression.added"
    told = [x["action"] for x in run("audit", account, "--json").lines]
    assert sorted(x for x in told if x in (erased, added)) == [erased, added]
    assert {x["action"] for x in run("audit", "--json").lines} == {"person.erasing", "person.erased"}
    again = run("erase", PERSON, "--yes")
    assert (again.code, again.err.count("nothing was found")) == (0, 1)


@pytest.mark.slow
def test_a_long_erasure_takes_several_requests_which_report_as_one(
    run: Run, clock: FakeClock, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = sorted(suppressed(clock) for _ in range(3))
    monkeypatch.setattr(erasing, "TOGETHER", 1)
    monkeypatch.setattr(erasing, "WORK_SECONDS", 0)
    looked = run("erase", PERSON, "--dry-run", "--json").json
    assert (looked["erased"], run("audit").out) == ({"suppressions hashed": 3}, "")
    operators.asked.clear()
    answer = operators.answer

    def later(*request: Any) -> Any:
        clock.time += 1
        return answer(*request)

    monkeypatch.setattr(operators, "answer", later)
    done = run("erase", PERSON, "--yes", "--json").json
    assert (done["erased"], done["accounts"]) == ({"suppressions hashed": 3}, accounts)
    assert PERSON.lower() not in everything_stored().lower()
    requests = len(operators.asked) - 1
    assert requests > len(accounts), "each looked at one account at the most"
    for account in accounts:
        (entry,) = [x for x in run("audit", account, "--json").lines if x["action"] == "person.erased"]
        assert (entry["data"]["suppressions hashed"], entry["actor"].startswith("operator:")) == (1, True)
    entries = run("audit", "--json").lines
    assert sorted(x["action"] for x in entries) == ["person.erased"] * requests + ["person.erasing"] * requests
    assert len({x["data"]["run"] for x in entries}) == 1


@pytest.mark.slow
def test_an_interrupted_erasure_prints_where_it_continues(
    run: Run, clock: FakeClock, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        Suppressions(boto3.client("dynamodb", region_name="us-east-1"), TABLE, clock).put("acc_x", f"{n}@x.org", "b")
    monkeypatch.setattr(erasing, "WORK_SECONDS", 0)
    monkeypatch.setitem(SCAN, "Limit", 1)
    answer, begun = operators.answer, list[str]()

    def until_it_reads(method: str, target: str, headers: dict[str, str], body: bytes) -> Any:
        step = json.loads(body).get("step", "")
        begun.extend([step] if step == MESSAGES else [])
        return answer(method, target, headers, body) if len(begun) < 3 else (403, {}, b"{}")

    monkeypatch.setattr(operators, "answer", until_it_reads)
    stopped = run("erase", PERSON, "--yes")
    assert stopped.code == 4
    (place,) = re.findall(r"repeat the command with  --from (\S+)\n", stopped.err)
    monkeypatch.setattr(operators, "answer", answer)
    asked = len(operators.asked)
    assert run("erase", PERSON, "--yes", "--from", place).code == 0
    assert len(operators.asked) > asked


@pytest.mark.parametrize(("step", "after"), [("messages", "x"), ("archive", "x"), ("archive", "[]"), ("later", "")])
def test_a_place_that_no_request_answered_with_is_refused(
    run: Run, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch, step: str, after: str
) -> None:
    monkeypatch.setattr("cli.operating.erasing.FIRST", {"run": "", "step": step, "after": after})
    assert run("erase", PERSON, "--yes").code == 2
    assert run("audit").out == ""


@pytest.mark.slow
def test_an_erased_guest_is_named_in_the_report(run: Run, clock: FakeClock) -> None:
    client = boto3.client("dynamodb", region_name="us-east-1")
    account = Accounts(client, TABLE, clock).create_account("Ann & Co")
    Guests(Dynamo(client), TABLE, clock).add(account, PERSON.lower())
    done = run("erase", PERSON, "--yes")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert (done.code, lines[3]) == (0, "1 guests of an account removed from its list"), done.err
    assert PERSON.lower() not in everything_stored().lower()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "key"), [("+1 (202) 555-0142", "+12025550142"), ("Ann <ANN@bücher.example>", "ann@xn--bcher-kva.example")]
)
def test_the_spelling_of_an_address_does_not_matter(run: Run, clock: FakeClock, given: str, key: str) -> None:
    suppressed(clock, key)
    assert run("erase", given, "--yes", "--json").json["erased"] == {"suppressions hashed": 1}
    assert key not in everything_stored().lower()


@pytest.mark.parametrize("words", [("not an address",), ("5551234567",), (PERSON, "--from", "nonsense")])
def test_what_is_not_understood_erases_nothing(run: Run, clock: FakeClock, words: tuple[str, ...]) -> None:
    suppressed(clock)
    before = everything_stored()
    assert run("erase", *words, "--yes").code == 2
    assert everything_stored() == before


def test_each_kind_of_what_is_erased_has_words_for_people() -> None:
    assert set(DONE) == {x.value for x in Erased}
    assert Erased.LISTS.value == LISTS
    assert (EraseStep.MESSAGES.value, EraseStep.ARCHIVE.value) == (MESSAGES, ARCHIVE)
