"""Sabotages of searches for messages, and of the pages that they read."""

from typing import Final

from tests.mutants.mutant import Mutant

_CONTRACT: Final = "tests/contracts/test_search_pages.py"
_ENGINE: Final = "tests/engine/test_search.py"
_CANDIDATES: Final = "shared/engine/reports/candidates.py"
_MARKS: Final = "shared/domain/searching/marks.py"
_RECORDS: Final = "shared/adapters/dynamo/jobs/records.py"

SEARCH: Final = [
    Mutant(
        "a search by state looks into each job",
        10,
        _CANDIDATES,
        "return any(counts[state.value] for state in self.wanted.states)",
        "return True",
        "tests/engine/test_search_million.py::test_an_ended_job_is_looked_into_only_if_its_figures_have_the_state",
    ),
    Mutant(
        "a search by state trusts figures that are not whole",
        10,
        _CANDIDATES,
        "if not self.wanted.states or job.state is not JobState.LOGGED:",
        "if not self.wanted.states:",
        "tests/engine/test_search_million.py::test_an_ended_job_is_looked_into_only_if_its_figures_have_the_state",
    ),
    Mutant(
        "the page of a small job is forgotten when the sender ends it",
        7,
        _RECORDS,
        "search_pages.put_first(self._db, self._records, [(x.held, x.job) for x in ends])",
        "pass",
        f"{_CONTRACT}::test_the_first_fold_makes_a_page_of_a_small_job[dynamo-end_jobs]",
    ),
    Mutant(
        "two pages of one newest job replace each other",
        7,
        _MARKS,
        """place += "#" + hashlib.sha256("".join(job.id for job in jobs).encode()).hexdigest()[:16]""",
        "pass",
        f"{_CONTRACT}::test_a_page_that_others_share_is_not_replaced_by_a_part_of_it[dynamo]",
    ),
    Mutant(
        "marks are the same in all accounts",
        9,
        _MARKS,
        """f"{namespace}\\0{what.value}\\0{text}\"""",
        """f"{what.value}\\0{text}\"""",
        f"{_ENGINE}::test_two_accounts_do_not_find_each_other",
    ),
    Mutant(
        "small jobs that no fold has put into a page are not found",
        7,
        _CANDIDATES,
        "found += (x for x in some if x > end and is_small(x))",
        "found += ()",
        "tests/api/test_found_messages.py::test_a_message_is_found_from_its_acceptance_on_and_after_it_was_sent",
    ),
    Mutant(
        "an erasure leaves the marks of a person in pages",
        9,
        "shared/adapters/dynamo/erasure/marks.py",
        "if any(x.job == job for x in each):",
        "if not each:",
        "tests/api/test_erased_marks.py::test_no_mark_of_a_person_is_left_and_others_are_still_found",
    ),
    Mutant(
        "a test key finds live messages",
        9,
        "functions/api/messages/routes.py",
        "return (tests,) if call.key.test else",
        "return",
        "tests/api/test_found_messages.py::test_keys_find_what_they_may_see",
    ),
]
