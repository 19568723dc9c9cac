"""Sabotages of what other services' requests become."""

from typing import Final

from tests.mutants.mutant import Mutant

API: Final = "tests/api/test_doors.py"
POSTED: Final = "shared/engine/intake/posted.py"

DOORS: Final = (
    Mutant(
        "people who are suppressed get copies",
        11,
        POSTED,
        "return tuple(a for a in some if a.key not in codes)",
        "return tuple(some)",
        f"{API}::test_who_is_suppressed_is_left_out_and_seen_in_the_log",
    ),
    Mutant(
        "a message goes to a provider that can only refuse it",
        1,
        "shared/engine/intake/routes.py",
        "return people <= (self.people or people) and shown <= (self.shown or shown)",
        "return people > 0",
        "tests/api/test_crowds.py::test_a_credential_that_cannot_carry_it_is_left_out_also_for_failover[batch]",
    ),
    Mutant(
        "people who are suppressed later get copies",
        11,
        "shared/engine/lane/lease.py",
        "return without_copies(content, gone) if gone and content.copied else content",
        "return content",
        "tests/attacks/test_a_copy_to_a_suppressed_person.py"
        "::test_a_batch_s_copy_to_a_person_who_is_suppressed_meanwhile_is_left_out[cc]",
    ),
    Mutant(
        "a request for the sandbox is sent",
        3,
        "functions/api/doors/routes.py",
        "request = request_of(acting, posting,",
        "request = request_of(call, posting,",
        f"{API}::test_the_sandbox_is_a_test",
    ),
    Mutant(
        "a rehearsal uses up the key of the real request",
        13,
        "functions/api/doors/routes.py",
        "posting, idempotency_key(acting))",
        "posting, idempotency_key(call))",
        "tests/attacks/test_a_rehearsal_before_the_real_thing.py::test_a_rehearsal_does_not_block_the_real_request[live]",
    ),
    Mutant(
        "an older sender sends all messages alike",
        3,
        "shared/domain/content/content.py",
        'document["merged"] = document.pop("merge")',
        'document["merged"] = document["merge"]',
        "tests/domain/test_content.py::test_an_older_sender_fails_on_a_content_of_which_it_would_send_only_a_part[changes0]",
    ),
    Mutant(
        "texts of any number keep a sender busy",
        6,
        POSTED,
        "sum(map(len, m.texts)) * size > MAX_SEARCH",
        "sum(map(len, m.texts)) > MAX_SEARCH",
        f"{API}::test_substitutions_cannot_keep_a_sender_busy[long]",
    ),
    Mutant(
        "a repeated key of another service's client sends again",
        1,
        "functions/api/doors/routes.py",
        "posting, idempotency_key(acting))",
        'posting, "")',
        f"{API}::test_a_repeated_key_gets_the_first_answer",
    ),
    Mutant(
        "a repeated batch of another service's client sends all again",
        1,
        "functions/api/doors/several.py",
        'return f"{key}{BESIDE}{place}" if key else ""',
        'return ""',
        "tests/api/test_door_postmark.py::test_a_repeated_batch_sends_what_was_not_taken_and_nothing_twice",
    ),
    Mutant(
        "another batch with a key that was used is sent",
        1,
        "functions/api/doors/several.py",
        "if any(isinstance(x, _Ready) for x in read):",
        "if False:",
        "tests/api/test_door_postmark.py::test_a_key_of_another_batch_changes_nothing",
    ),
    Mutant(
        "a strict batch is sent without the message that is not valid",
        10,
        "functions/api/doors/several.py",
        "_raise_first(read, None if together else _OF_ALL)",
        "_raise_first(read, _OF_ALL)",
        "tests/api/test_door_resend.py::test_one_message_that_is_not_valid_stops_a_strict_batch",
    ),
    Mutant(
        "a batch that the store took in part says nothing of it",
        1,
        "functions/api/doors/several.py",
        "    if together:\n        _raise_rest(found)\n",
        "",
        "tests/api/test_door_resend.py"
        "::test_a_strict_batch_that_breaks_off_says_what_was_taken_and_is_finished_by_its_key",
    ),
    Mutant(
        "opens that a client of Postmark's wants tracked are left out in silence",
        10,
        "shared/providers/postmark/intake.py",
        '(("TrackOpens", mail.TrackOpens), ',
        "(",
        "tests/providers/test_postmark_intake.py"
        "::test_what_is_refused_may_be_there_if_it_says_nothing[TrackOpens-True-silent0]",
    ),
    Mutant(
        "files that a client of Resend's leaves elsewhere are left out in silence",
        10,
        "shared/providers/resend/intake.py",
        "if given.path:",
        "if False:",
        "tests/providers/test_resend_intake.py::test_a_file_that_is_elsewhere_and_a_topic_are_refused",
    ),
    Mutant(
        "removing a bounce removes a suppression of the owner's own",
        11,
        "functions/api/doors/lists.py",
        "if found is not None and door.holds(found):",
        "if found is not None:",
        "tests/api/test_door_lists.py::test_who_is_removed_may_be_sent_to_again",
    ),
)
