"""Sabotages of the operators' commands."""

from typing import Final

from tests.mutants.mutant import Mutant

REDRIVE: Final = "shared/adapters/queues/redrive.py"
TESTS: Final = "tests/cli/test_redrive.py"

OPERATORS: Final = (
    Mutant(
        "an operator is who a header says",
        9,
        "functions/operate/call.py",
        '.get("userArn")',
        '.get("userArn", (event.get("headers") or {}).get("x-amzn-iam-user-arn"))',
        "tests/cli/test_door.py::test_nothing_is_answered_to_a_caller_whom_iam_has_not_identified[entries-authorizer3]",
    ),
    Mutant(
        "an operator's signed request leaves unencrypted",
        9,
        "cli/operating/door.py",
        "check_address(address,",
        "str.format(address,",
        "tests/cli/test_door.py::test_a_stack_of_an_earlier_version_has_no_door",
    ),
    Mutant(
        "a redrive deletes what SQS did not take",
        3,
        REDRIVE,
        "why |= self._deliver(good)",
        "self._deliver(good)",
        f"{TESTS}::test_each_is_sent_before_it_is_deleted_and_what_is_not_taken_stays",
    ),
    Mutant(
        "a redrive moves poison round and round",
        8,
        REDRIVE,
        "why |= {x.id: BACK_AGAIN for x in letters if x.run == self._run}",
        "why |= {x.id: BACK_AGAIN for x in letters if x.redrives > 20}",
        f"{TESTS}::test_what_fails_again_at_once_is_moved_once",
    ),
    Mutant(
        "a redrive discards what was only refused for the moment",
        3,
        REDRIVE,
        "hopeless = [x for x, why in letters if why in HOPELESS]",
        "hopeless = [x for x, why in letters if why != BACK_AGAIN]",
        f"{TESTS}::test_only_unreadable_messages_are_discarded",
    ),
    Mutant(
        "an interrupted redrive keeps what it held",
        3,
        REDRIVE,
        "        finally:\n            give_back(",
        "        except ZeroDivisionError:\n            give_back(",
        f"{TESTS}::test_an_interruption_gives_back_what_is_in_hand",
    ),
    Mutant(
        "a report goes though the end of its batch did not come",
        3,
        REDRIVE,
        "return NOT_WHOLE",
        'return ""',
        "tests/cli/test_streams.py::test_a_batch_that_is_not_handed_over_whole_stays_reported",
    ),
    Mutant(
        "an erasure that ends within a page leaves the rest of it",
        9,
        "shared/adapters/dynamo/erasure/erasing.py",
        "return token_of(item), False",
        'return token_of(page["Items"][-1]), False',
        "tests/api/test_erasing.py::test_a_scan_that_ends_after_each_item_finds_all_the_same",
    ),
    Mutant(
        "a copy of an archived file lacks what a request before has copied",
        9,
        "shared/adapters/s3/archive_eraser.py",
        "etags=(*here.etags, etag)",
        "etags=(etag,)",
        "tests/adapters/test_archived.py::test_calls_that_end_within_a_file_continue_there[1]",
    ),
    Mutant(
        "nobody reads in the audit log that an erasure has begun",
        9,
        "functions/operate/erasing.py",
        "note(Act.ERASING, [EVERYONE], {})",
        "pass",
        "tests/cli/test_erasing.py::test_a_long_erasure_takes_several_requests_which_report_as_one",
    ),
    Mutant(
        "a subscription that its owner has ended hears of alarms",
        3,
        "shared/providers/checks.py",
        '.startswith("arn:")',
        ' != "PendingConfirmation"',
        "tests/cli/test_checks.py::test_alarms_must_reach_somebody",
    ),
    Mutant(
        "operators of a stage see alarms of another whose name begins alike",
        3,
        "shared/adapters/alarms.py",
        'action.endswith(f":{self._prefix}{TOPIC}")',
        "action.startswith(self._prefix[:0])",
        "tests/console/test_alarms.py::test_alarms_of_a_stage_whose_name_begins_alike_are_not_shown",
    ),
    Mutant(
        "a table is judged as if all messages came in batches",
        3,
        "cli/checks/account.py",
        "    if limit < single:",
        "    if limit < bulk:",
        "tests/cli/test_checks.py::test_five_thousand_single_messages_a_second_are_too_many_for_a_table",
    ),
    Mutant(
        "the stages of an account share their figures",
        3,
        "shared/adapters/metrics.py",
        'line.add_dimension("stage", stage)',
        'line.add_dimension("stage", "every")',
        "tests/monitoring/test_drill.py::test_the_alarms_read_what_the_functions_write",
    ),
    Mutant(
        "older code refuses settings that it does not know",
        3,
        "shared/contracts/settings.py",
        "for name, value in dict(raw).items() if name in names}",
        "for name, value in dict(raw).items()}",
        "tests/contracts/test_formats.py::test_settings_are_read_whichever_version_wrote_them[recorded0]",
    ),
)
