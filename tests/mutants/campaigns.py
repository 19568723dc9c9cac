"""Sabotages of campaigns: what is sent twice, to the wrong ones, or never, if a rule is left out."""

from typing import Final

from tests.mutants.mutant import Mutant

ENGINE: Final = "shared/engine/campaigns/campaigns.py"
STORE: Final = "shared/adapters/dynamo/campaigns/campaigns.py"
EDGES: Final = "tests/api/test_campaign_edges.py"
API: Final = "tests/api/test_campaigns.py"
SENDING: Final = "tests/api/test_campaign_sending.py"

AUDIT: Final = "tests/contracts/test_journal.py"

CAMPAIGNS: Final = (
    Mutant(
        "a draft is deleted without an entry of the audit log",
        7,
        "shared/adapters/dynamo/versioned.py",
        '[{"Delete": gone}, *self.noted(event)]',
        '[{"Delete": gone}]',
        f"{AUDIT}::test_a_draft_is_made_and_removed_with_its_events[dynamo-None]",
    ),
    Mutant(
        "an edit that changes nothing has an entry of the audit log",
        7,
        ENGINE,
        "            if not new:\n",
        "            if not changes:\n",
        "tests/api/test_audit.py::test_drafts_and_their_lists_are_audited_once_without_content[False]",
    ),
    Mutant(
        "a campaign is written as if nobody else did",
        1,
        "shared/adapters/dynamo/codec.py",
        '"ConditionExpression": "#guard = :guard",',
        '"ConditionExpression": "#guard = :guard OR attribute_exists(pk)",',
        "tests/contracts/test_campaigns.py::test_nothing_is_sent_of_what_has_moved_on[dynamo-campaign]",
    ),
    Mutant(
        "a list stays unsent when it is sent",
        1,
        STORE,
        '            {"Update": upload_update(self._table, upload, upload.changed(state=UploadState.SENT))},\n',
        "",
        "tests/contracts/test_campaigns.py::test_nothing_is_sent_of_what_has_moved_on[dynamo-upload]",
    ),
    Mutant(
        "a send forgets its key",
        7,
        ENGINE,
        "    if not order.idempotency_key:\n",
        "    if not order.idempotency_key or at > 0:\n",
        f"{EDGES}::test_a_send_that_is_repeated_after_the_next_list_sends_it_not",
    ),
    Mutant(
        "a list may be sent for ever",
        3,
        ENGINE,
        "        if max(self._now(), order.not_before) > expires:\n",
        "        if order.not_before > expires:\n",
        f"{SENDING}::test_what_cannot_be_sent_says_why",
    ),
    Mutant(
        "a list is sent without the columns that its message names",
        6,
        ENGINE,
        "        if campaign.missing:\n",
        "        if campaign.missing and not campaign.ready:\n",
        f"{API}::test_a_changed_template_says_what_its_list_lacks_and_cannot_be_sent_until_it_fits",
    ),
    Mutant(
        "a list that is read changes its credential",
        3,
        ENGINE,
        "and (current.ready or current.jobs):",
        "and current.jobs:",
        f"{API}::test_settings_change_as_long_as_no_list_is_read",
    ),
    Mutant(
        "the next list has its bounce guard again",
        6,
        "shared/engine/lists/list_jobs.py",
        "        guard_off=campaign.guard_off,\n",
        "",
        f"{SENDING}::test_the_bounce_guard_is_taken_off_for_good",
    ),
    Mutant(
        "a resume leaves those that are being stopped",
        4,
        ENGINE,
        "        if any(job.state is JobState.STOPPED for job in jobs):\n",
        "        if all(job.state is JobState.STOPPED for job in jobs):\n",
        f"{EDGES}::test_no_list_is_forgotten_by_a_resume_while_one_is_being_stopped",
    ),
    Mutant(
        "a test key moves what is live",
        9,
        "functions/api/jobs/routes.py",
        "and (job.test or not call.key.test)",
        "",
        f"{EDGES}::test_a_test_key_moves_nothing_that_reaches_a_provider",
    ),
    Mutant(
        "a test key opens live campaigns",
        9,
        "functions/api/campaigns/rules.py",
        "(found.account, found.test) != (call.key.account, call.key.test)",
        "found.account != call.key.account",
        f"{API}::test_a_test_key_s_campaign_is_no_live_key_s_and_the_other_way_round",
    ),
    Mutant(
        "tests without end",
        11,
        "functions/api/campaigns/trials.py",
        "    if wait is not None:\n",
        "    if wait is not None and wait < 0:\n",
        "tests/api/test_campaign_tests.py::test_tests_are_no_way_to_send_a_list",
    ),
)
