"""Sabotages of restores: nothing of the past is sent again, and nothing newer is overwritten."""

from typing import Final

from tests.mutants.mutant import Mutant

RULES: Final = "shared/domain/restoring/past.py"
ITEMS: Final = "shared/adapters/dynamo/restoring/items.py"
_DOMAIN: Final = "tests/domain/test_restoring.py"
_STORES: Final = "tests/contracts/test_restoring.py"

RESTORING: Final = (
    Mutant(
        "what waits in a copy is sent again",
        1,
        RULES,
        "        if Cell(cell & 15) in _DOUBTFUL:\n",
        "        if Cell(cell & 15) is Cell.CLAIMED:\n",
        f"{_DOMAIN}::test_what_waits_in_a_copy_is_in_doubt_and_the_rest_stays",
    ),
    Mutant(
        "a soft word has a message of a copy sent again",
        1,
        RULES,
        "status=LedgerStatus.DONE, limit=0, not_before=0)",
        "status=LedgerStatus.DONE, not_before=0)",
        f"{_DOMAIN}::test_no_soft_word_and_no_proof_of_absence_has_a_message_of_a_copy_sent_again",
    ),
    Mutant(
        "what a provider gave up later counts as sent",
        3,
        RULES,
        "state is not Cell.DROPPED and ",
        "",
        f"{_DOMAIN}::test_what_a_provider_gave_up_after_it_took_it_is_in_doubt_and_what_it_delivered_is_not",
    ),
    Mutant(
        "a job of a copy runs at once",
        1,
        RULES,
        "    return replace(out, state=JobState.STOPPED, stopped=True,",
        "    return replace(out, stopped=True,",
        f"{_DOMAIN}::test_a_job_comes_back_stopped_and_says_why_if_it_was_under_way[READY]",
    ),
    Mutant(
        "a copy overwrites what is newer",
        1,
        "shared/adapters/dynamo/restoring/copying.py",
        '"attribute_not_exists(pk)"',
        '"attribute_not_exists(nothing)"',
        f"{_STORES}::test_what_is_there_already_is_newer_and_stays",
    ),
    Mutant(
        "who hears of events comes back with the rest",
        12,
        "shared/adapters/dynamo/restoring/copying.py",
        "            self._put_all([x for x in page if not is_listener(x)])\n",
        "            self._put_all(page)\n",
        f"{_STORES}::test_who_hears_of_events_comes_back_last",
    ),
    Mutant(
        "webhooks hear again of jobs that had ended",
        12,
        ITEMS,
        "    return [out | _UNHEARD] if job.ended_at else [out]\n",
        "    return [out]\n",
        f"{_STORES}::test_no_stream_takes_what_comes_back_for_news",
    ),
    Mutant(
        "a notice whose run may have begun is sent again",
        1,
        ITEMS,
        "notice.phase is not Phase.WAITING or notice.next_at > past.now",
        "notice.phase is not Phase.WAITING or notice.next_at <= past.now",
        f"{_STORES}::test_a_notice_whose_turn_had_come_ends_and_its_notifier_is_informed",
    ),
    Mutant(
        "a digest that may have been sent is made again",
        1,
        ITEMS,
        "if past.exact or window.state in window_codec.ENDED:",
        "if window.state:",
        f"{_STORES}::test_a_window_that_may_have_become_a_digest_is_cancelled",
    ),
    Mutant(
        "a reader puts a list's chunks over those in use",
        1,
        ITEMS,
        "    if upload.state not in UNREAD:\n",
        "    if upload.state:\n",
        f"{_STORES}::test_a_list_that_was_being_read_is_given_up[reading]",
    ),
    Mutant(
        "jobs that are lost are not named",
        3,
        "shared/adapters/dynamo/restoring/holding.py",
        "for job, number in messages.items() if job not in known",
        "for job, number in messages.items() if job in known",
        f"{_STORES}::test_the_review_shows_what_waits_and_names_what_is_lost",
    ),
)
