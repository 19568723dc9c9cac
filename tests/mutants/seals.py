"""Sabotages of audit logs and their seals: an entry that is replaced, or changed without being found."""

from typing import Final

from tests.mutants.mutant import Mutant

DOMAIN: Final = "shared/domain/auditing/seals.py"
ENGINE: Final = "shared/engine/reports/sealing.py"
TEST: Final = "tests/contracts/test_seals.py"
JOURNAL: Final = "tests/contracts/test_journal.py"

SEALS: Final = (
    Mutant(
        "an entry takes the place of another of its moment",
        7,
        "shared/adapters/dynamo/audit.py",
        "event.at, event.id, event.kind, event.mark)",
        "event.at, event.id, event.kind)",
        "tests/contracts/test_seals.py::test_two_entries_of_one_moment_are_both_there",
    ),
    Mutant(
        "an entry is written over what is in its place",
        7,
        "shared/adapters/dynamo/audit.py",
        '"attribute_not_exists(pk) OR (#data = :data AND actor = :actor)"',
        '"attribute_not_exists(pk) OR #data = :data OR actor <> :actor"',
        f"{JOURNAL}::test_what_is_in_the_place_of_an_entry_is_not_written_over[dynamo]",
    ),
    Mutant(
        "a changed entry is not found",
        9,
        DOMAIN,
        "        elif was.content != now.content:\n",
        "        elif was.at != now.at:\n",
        f"{TEST}::test_a_changed_entry_is_found[actor-1]",
    ),
    Mutant(
        "a removed entry is not found",
        9,
        DOMAIN,
        "    faults += [AuditFault(Tampering.REMOVED, x.at) for x in kept.values()]\n",
        "",
        f"{TEST}::test_a_removed_entry_is_found[1]",
    ),
    Mutant(
        "a seal that was made again is taken",
        9,
        DOMAIN,
        'seal.before != (last.digest if last else "") or ',
        "",
        f"{TEST}::test_a_seal_that_was_made_again_over_a_changed_entry_is_found",
    ),
    Mutant(
        "quiet days have no seals",
        9,
        ENGINE,
        "            if not entries and last is None:\n",
        "            if not entries:\n",
        f"{TEST}::test_an_entry_in_a_day_that_was_empty_is_found",
    ),
    Mutant(
        "an export has no entry",
        9,
        "functions/api/personal.py",
        "    if route.name in EXPORTS:\n        services.acceptances.note(",
        "    if route.name in EXPORTS:\n        print(",
        "tests/attacks/test_what_a_leaked_key_read.py::test_an_export_names_its_job_and_who_asked",
    ),
    Mutant(
        "of two who read in an hour one is noted",
        9,
        "shared/domain/audit.py",
        'return "" if self.id in self.actor else _hashed(self.actor)',
        'return ""',
        "tests/attacks/test_what_a_leaked_key_read.py::test_each_hour_in_which_a_key_reads_personal_data_has_one_entry",
    ),
)
