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
        "test=acting.key.test,",
        "test=call.key.test,",
        f"{API}::test_the_sandbox_is_a_test",
    ),
    Mutant(
        "a rehearsal uses up the key of the real request",
        13,
        "functions/api/doors/routes.py",
        "idempotency_key=idempotency_key(acting),",
        "idempotency_key=idempotency_key(call),",
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
        "idempotency_key=idempotency_key(acting),",
        'idempotency_key="",',
        f"{API}::test_a_repeated_key_gets_the_first_answer",
    ),
)
