"""Sabotages of hours: what is sent at night, or waits for ever, if a rule is left out."""

from typing import Final

from tests.mutants.mutant import Mutant

CHECKS: Final = "shared/engine/lane/checks.py"
WINDOW: Final = "shared/engine/lane/window.py"
TESTS: Final = "tests/engine/test_hours.py"

HOURS: Final = (
    Mutant(
        "a claim does not ask whether the hours are open",
        1,
        CHECKS,
        "if not self._is_open(lease, job, control) or not",
        "if not",
        f"{TESTS}::test_what_is_left_at_the_closing_waits_until_the_next_opening",
    ),
    Mutant(
        "calls of a window that was claimed begin after the closing",
        1,
        WINDOW,
        "min(at + late, self._lease.last_begin)",
        "at + late",
        f"{TESTS}::test_what_is_left_at_the_closing_waits_until_the_next_opening",
    ),
    Mutant(
        "a chunk of one zone has the whole job wait",
        3,
        CHECKS,
        "        if first > now:\n",
        "        if at > now:\n",
        f"{TESTS}::test_a_chunk_waits_for_its_own_zone_while_another_is_sent",
    ),
    Mutant(
        "a campaign keeps its credential through the night",
        3,
        "shared/engine/jobs/giving_way.py",
        "        if job.state is JobState.READY:  # it gives way already, or its hours have ended its turn\n"
        "            return job.rests_until\n",
        "",
        f"{TESTS}::test_a_campaign_that_waits_for_its_hours_leaves_its_credential_to_the_next",
    ),
    Mutant(
        "a resume does not wait for the hours",
        1,
        "shared/adapters/dynamo/jobs/transitions.py",
        "            made.wait(job.opens(max(now, job.not_before)), max(now, job.not_before))\n",
        "",
        "tests/contracts/test_records.py::test_a_job_with_hours_waits_for_them_when_it_is_resumed_outside_and_then_has_no_time_of_its_own[dynamo]",
    ),
    Mutant(
        "a provider that sends when it is asked is asked at night",
        1,
        "shared/engine/outcome/resolve.py",
        "if not all(x.is_open(now) for x in openings(job, loaded.chunk.zone, control.quiet)):",
        "if not openings:",
        "tests/engine/test_resolve.py::test_outside_of_its_hours_nothing_is_asked_about_when_asking_sends[True]",
    ),
    Mutant(
        "recipients of several zones share a chunk",
        1,
        "shared/domain/lists/ingest.py",
        "by_zone.setdefault(self._zone_of(one[0]), [])",
        "by_zone.setdefault('', [])",
        "tests/domain/test_ingest.py::test_numbers_of_one_country_are_together_and_those_of_a_column_go_first",
    ),
    Mutant(
        "a number is sent to once one zone of its country is open",
        1,
        "shared/domain/hours/hours.py",
        '(zone or self.fallback).split(",")',
        '(zone or self.fallback).split(",")[:1]',
        "tests/domain/test_hours.py::test_a_chunk_is_sent_when_it_is_open_in_all_of_its_zones",
    ),
    Mutant(
        "a list that was read without zones is sent by them",
        1,
        "shared/engine/campaigns/campaigns.py",
        'zones = _by_recipient(changes.get("hours")) and not _by_recipient(current.hours)',
        "zones = False",
        "tests/api/test_hours.py::test_a_list_that_was_read_without_zones_is_not_sent_by_them",
    ),
    Mutant(
        "a digest is sent outside of its policy's hours",
        1,
        "shared/engine/digests/make.py",
        "hours=None if window.urgent else policy.hours,",
        "hours=None,",
        "tests/engine/digests/test_make.py::test_a_digest_waits_for_the_hours_of_its_policy_and_that_of_an_urgent_event_does_not",
    ),
    Mutant(
        "quiet hours of an account hold nothing up",
        1,
        CHECKS,
        "return (*hours, outside(text)) if text else hours",
        "return hours",
        f"{TESTS}::test_quiet_hours_of_an_account_hold_every_job_of_the_channel_up",
    ),
    Mutant(
        "any key may send in quiet hours",
        1,
        "functions/api/batches/routes.py",
        "if call.body.urgent and Scope.URGENT not in call.key.scopes:",
        "if call.body.urgent and not call.key.scopes:",
        "tests/api/test_hours.py::test_what_is_urgent_needs_its_own_scope",
    ),
    Mutant(
        "a batch of the night is sent at once",
        1,
        "shared/engine/intake/accept.py",
        "        begin = begin_of(request.hours, asked)\n",
        "        begin = asked\n",
        f"{TESTS}::test_a_batch_of_the_night_is_sent_in_the_morning",
    ),
    Mutant(
        "a clock that is put back does not end the hours",
        3,
        "shared/domain/hours/openings.py",
        "            found.append(change_of_offset(zone, low, high))\n",
        "            pass\n",
        "tests/domain/test_hours.py::test_a_clock_that_is_put_back_out_of_the_hours_ends_them",
    ),
)
