"""Sabotages of the notifier's spool."""

from typing import Final

from tests.mutants.mutant import Mutant

OUTBOX: Final = "cli/notifier/outbox.py"
TESTS: Final = "tests/cli/notifier/test_sync.py"

SPOOL: Final = (
    Mutant(
        "a later record overtakes an upload that may still arrive",
        1,
        OUTBOX,
        "return max(0, row[0] - now_ms) if row[0] else 0",
        "return 0",
        f"{TESTS}::test_no_later_record_of_a_message_overtakes_an_upload_that_may_still_arrive",
    ),
    Mutant(
        "a payload holds a message twice",
        1,
        OUTBOX,
        "name in ids or held",
        "held",
        f"{TESTS}::test_what_waits_is_uploaded_in_order",
    ),
    Mutant(
        "updates of the hour that exists twice count twice",
        1,
        "cli/notifier/mailbox.py",
        "if x.stamp > done]",
        "if x]",
        f"{TESTS}::test_updates_of_the_hour_that_exists_twice_arrive_once",
    ),
    Mutant(
        "an upload counts without the hub's answer",
        3,
        "cli/notifier/hub.py",
        'case 200 if problem.get("received") == count:',
        "case 200:",
        f"{TESTS}::test_an_answer_of_a_stranger_counts_for_nothing[[]]",
    ),
)
