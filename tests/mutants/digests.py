"""Sabotages of the rules of digests: each event is in exactly one window, and each window becomes one job."""

from typing import Final

from tests.mutants.mutant import Mutant

_WINDOWS: Final = "shared/adapters/dynamo/digests/windows.py"
_MAKE: Final = "shared/engine/digests/make.py"
_CLOSE: Final = "shared/engine/digests/close.py"
_HINTS: Final = "shared/engine/digests/hints.py"
_MINUTES: Final = "shared/engine/minutes.py"
_CLEAN: Final = "shared/engine/digests/clean.py"
_REPEATS: Final = "shared/engine/digests/repeats.py"
_GROUPING: Final = "shared/domain/digests/grouping.py"
_EARLIER: Final = "tests/engine/digests/test_earlier.py"
_TEST_MAKE: Final = "tests/engine/digests/test_make.py"
_TEST_CLOSE: Final = "tests/engine/digests/test_close.py"

_ADDED: Final = (
    Mutant(
        "a part whose answer was lost joins its window again",
        1,
        _WINDOWS,
        "AND NOT contains(#parts, :part)",
        "AND (NOT contains(#parts, :part) OR #state = :open)",
        "tests/contracts/test_windows.py::test_a_part_joins_once_whatever_answer_is_lost[dynamo-repeated]",
    ),
    Mutant(
        "an outdated memory moves the end of a window back",
        3,
        _WINDOWS,
        '"#closes_at = :seen"',
        '"#closes_at >= :seen"',
        "tests/contracts/test_windows.py::test_a_store_admits_what_the_rules_admit[dynamo-the end has moved]",
    ),
    Mutant(
        "a part joins a window that has closed",
        3,
        _WINDOWS,
        '_ADDS: Final = "#state = :open AND #closes_at > :now',
        '_ADDS: Final = "#state <> :open OR #closes_at > :now',
        "tests/contracts/test_windows.py::test_a_store_admits_what_the_rules_admit[dynamo-closed]",
    ),
    Mutant(
        "a window is opened beside an open one",
        3,
        "shared/engine/digests/add.py",
        "(last.state is WindowState.OPEN or part.id in last.parts)",
        "part.id in last.parts",
        "tests/engine/digests/test_makers_storm.py::test_a_storm_of_makers[0]",
    ),
    Mutant(
        "a repeated urgent event is sent again",
        1,
        _WINDOWS,
        '"attribute_not_exists(pk) OR #at <= :since"',
        '"attribute_not_exists(pk) OR #at > :since OR #at <= :since"',
        "tests/contracts/test_windows.py::test_an_urgent_event_is_stored_once_within_the_time[dynamo]",
    ),
    Mutant(
        "a digest goes to people who left its policy",
        11,
        "shared/engine/suppression/suppressed.py",
        'policy = content.digest.policy if content is not None and content.digest is not None else ""',
        'policy = "" if content is None or content.digest is None else ""',
        "tests/engine/test_unsubscribed.py::test_news_of_a_policy_s_list_reach_a_digest_that_waits",
    ),
    Mutant(
        "events that find no room in a message are not counted",
        1,
        "shared/domain/digests/rendering.py",
        "more = len(numbers) - len(shown)",
        "more = 0 * len(shown)",
        "tests/domain/digests/test_rendering.py::test_each_message_lists_its_group_or_counts_it",
    ),
)

_MADE: Final = (
    Mutant(
        "a second maker's job of a window is accepted",
        1,
        "shared/adapters/dynamo/digests/window_codec.py",
        'condition = "#state = :state" +',
        'condition = "(#state = :state OR #version > :one)" +',
        "tests/contracts/test_digest_jobs.py::test_a_window_that_has_moved_on_gets_no_second_job[dynamo]",
    ),
    Mutant(
        "a window is made without the events that cannot be read",
        3,
        _MAKE,
        'raise DigestFault("events_gone")',
        "window = replace(window, parts=tuple(parts))",
        f"{_TEST_MAKE}::test_what_cannot_be_made_keeps_its_events_and_is_made_once_it_can[events_gone]",
    ),
    Mutant(
        "events whose recipients are all skipped are in no log",
        3,
        _MAKE,
        "        if recipients:  # else all events are repeats\n",
        "        if not all(x.skip for x in recipients):\n",
        f"{_TEST_MAKE}::test_a_window_whose_recipients_are_all_skipped_has_a_job_that_says_so",
    ),
    Mutant(
        "a digest goes to people who have left its policy before",
        11,
        _MAKE,
        "people |= {key: replace(people[key], skip=code) for key, code in codes.items()}",
        "people |= {key: people[key] for key in codes}",
        f"{_TEST_MAKE}::test_who_is_not_sent_to_is_a_skipped_message",
    ),
    Mutant(
        "people whose first event is the same get the same mail",
        3,
        _GROUPING,
        "groups.setdefault(tuple(numbers), [])",
        "groups.setdefault(tuple(numbers[:1]), [])",
        "tests/domain/digests/test_grouping.py::test_each_person_gets_exactly_the_events_that_name_them",
    ),
    Mutant(
        "an event lists a person twice who is named twice",
        1,
        _GROUPING,
        "if not numbers or numbers[-1] != number:",
        "if not numbers or numbers[-1] <= number:",
        "tests/domain/digests/test_grouping.py::test_a_person_who_is_named_twice_by_an_event_gets_it_once",
    ),
    Mutant(
        "an event with other content is taken for a repeat",
        1,
        _REPEATS,
        "return bool(there) and (name[1] in there or b",
        "return bool(there) and (there is not None or b",
        f"{_EARLIER}::test_two_contents_that_came_at_once_are_both_in_the_digest_and_a_repeat_is_not",
    ),
    Mutant(
        "an id with other content is accepted if another function has added it",
        1,
        "shared/engine/digests/earlier.py",
        "self._take_parts([*fresh, last], held)",
        "self._take_parts(fresh, held)",
        f"{_EARLIER}::test_another_function_sees_what_was_added_since_and_reads_little",
    ),
    Mutant(
        "an urgent event with other content is taken for a repeat",
        1,
        _WINDOWS,
        "if content and said and content != said:",
        "if content and not said:",
        "tests/contracts/test_windows.py::test_an_urgent_event_with_other_content_is_no_repeat[dynamo]",
    ),
    Mutant(
        "repeats are looked for in the same window only",
        1,
        _REPEATS,
        "near = [x for x in found if x.closed_at >= since]",
        "near = [x for x in found if x.closed_at > window.closed_at]",
        f"{_TEST_MAKE}::test_an_event_of_an_earlier_window_is_left_out_for_an_hour[False]",
    ),
    Mutant(
        "an event is taken for a repeat of one of yesterday",
        3,
        _REPEATS,
        "since, oldest = window.opened_at - LOOK_BACK_MS,",
        "since, oldest = window.opened_at - 24 * LOOK_BACK_MS,",
        f"{_TEST_MAKE}::test_an_event_of_an_earlier_window_is_left_out_for_an_hour[False]",
    ),
    Mutant(
        "repeats of a window without a list of ids are not found",
        1,
        _REPEATS,
        "parts = self._windows.parts(window.parts)",
        "parts = dict.fromkeys(window.parts[:0], b'')",
        f"{_TEST_MAKE}::test_ids_of_an_earlier_window_are_read_from_its_events_if_it_kept_none",
    ),
)

_CLOSED: Final = (
    Mutant(
        "a window closes before its end",
        3,
        _WINDOWS,
        '" AND #closes_at <= :now"',
        '" AND #closes_at <> :now"',
        "tests/contracts/test_windows.py::test_a_window_closes_at_its_end_or_early[dynamo]",
    ),
    Mutant(
        "a hint that comes early is lost",
        3,
        _CLOSE,
        "self._hints.at(window_id, window.closes_at)",
        "self._hints.at(window_id, window.closes_at) if window.failures else None",
        f"{_TEST_CLOSE}::test_a_hint_that_is_early_is_sent_again",
    ),
    Mutant(
        "the end of a window is announced nowhere",
        3,
        _HINTS,
        "self._minutes.announce(DueKind.DIGESTS, at)",
        "(self._minutes is not None)",
        f"{_TEST_CLOSE}::test_a_window_of_hours_is_announced_and_closes_within_two_seconds",
    ),
    Mutant(
        "a window whose minute cannot be announced has no hint",
        3,
        _MINUTES,
        "self._failed = self._clock.now()\n            return False",
        "self._failed = self._clock.now()\n            return True",
        f"{_TEST_CLOSE}::test_a_window_whose_minute_cannot_be_announced_has_a_hint_of_its_own",
    ),
    Mutant(
        "a minute that could not be announced counts as announced",
        3,
        _MINUTES,
        "self._announced.discard(minute)",
        "self._announced.add(minute)",
        "tests/engine/test_minutes.py::test_after_a_fault_no_request_waits_for_the_next_one_and_later_it_is_tried_again",
    ),
    Mutant(
        "each window calls EventBridge Scheduler",
        3,
        _MINUTES,
        "if minute in self._announced:",
        "if minute.at < 0:",
        "tests/engine/test_minutes.py::test_a_minute_has_one_schedule_and_a_process_one_call",
    ),
    Mutant(
        "a minute that comes early wakes its function at once and never again",
        3,
        _MINUTES,
        "if rest > 0:\n            self._queue.send",
        "if rest > 60:\n            self._queue.send",
        "tests/dispatch/test_due.py::test_a_minute_that_is_too_early_comes_again_and_then_wakes_its_function",
    ),
    Mutant(
        "the sweeper does not ask for windows that are overdue",
        3,
        "shared/engine/digests/overdue.py",
        "self.keeping.due(shard, now - HINTED_MS)",
        "self.keeping.over(shard, now - HINTED_MS)",
        f"{_TEST_CLOSE}::test_a_schedule_or_a_message_that_is_lost_costs_two_minutes_at_most[schedule]",
    ),
    Mutant(
        "the walk of what is overdue makes no windows",
        3,
        _CLOSE,
        'yield f"window {window_id}", partial(self.look, window_id)',
        'yield f"window {window_id}", partial(self._windows.get, window_id)',
        f"{_TEST_CLOSE}::test_the_walk_makes_what_no_hint_has[False]",
    ),
    Mutant(
        "a try is written down after it was made",
        6,
        _CLOSE,
        """if self._keeping.change(closed, tried):
            self._try(tried)""",
        """self._try(closed)
        self._keeping.change(closed, tried)""",
        f"{_TEST_CLOSE}::test_a_window_that_kills_its_function_does_not_do_so_in_the_next_run",
    ),
    Mutant(
        "a defect in one window ends the run",
        6,
        _CLOSE,
        "except Exception:  # noqa: BLE001 - logged; its age raises the alarm, and others go on",
        "except LookupError:",
        f"{_TEST_CLOSE}::test_a_defect_in_one_window_holds_nothing_up",
    ),
    Mutant(
        "events of a window that waits for days expire",
        3,
        _CLOSE,
        "self._keeping.keep_parts(parts, int(self._now() / 1000 + kept))",
        "self._keeping.keep_parts(parts, int(ended / 1000 + kept))",
        f"{_TEST_CLOSE}::test_events_of_what_cannot_be_made_are_kept_for_longer_each_day",
    ),
    Mutant(
        "events of earlier windows expire while one looks back",
        1,
        _CLOSE,
        "for x in (*self._repeats.earlier(window), window) for name",
        "for x in (window,) for name",
        f"{_TEST_CLOSE}::test_events_of_what_cannot_be_made_are_kept_for_longer_each_day",
    ),
)

_CLEANED: Final = (
    Mutant(
        "a window is removed while a later one needs its ids",
        1,
        _CLEAN,
        "any(x.state not in OVER for x in self._looking(window, last))",
        "any(x.state in () for x in self._looking(window, last))",
        f"{_TEST_CLOSE}::test_a_window_is_kept_while_a_later_one_looks_back_at_it",
    ),
    Mutant(
        "the last window of a key is removed, and its number used again",
        3,
        _CLEAN,
        "if last is None or last.number <= window.number:",
        "if last is None or last.number < window.number:",
        f"{_TEST_CLOSE}::test_a_window_is_removed_after_its_retention_unless_it_is_the_last",
    ),
    Mutant(
        "a window is removed before its retention is over",
        3,
        _CLEAN,
        "or not 0 < window.due_at <= now:",
        "or not 0 < window.closed_at <= now:",
        f"{_TEST_CLOSE}::test_a_window_is_kept_until_its_retention_is_over",
    ),
    Mutant(
        "a window is removed though it has changed since it was read",
        3,
        "shared/adapters/dynamo/digests/keeping.py",
        "(#version = :version AND #state IN",
        "(#version <= :version AND #state IN",
        "tests/contracts/test_windows.py::test_only_windows_that_have_ended_are_removed[dynamo]",
    ),
)

_SUPPRESSED: Final = (
    Mutant(
        "people behind the first page of a long list are sent to",
        11,
        "shared/adapters/dynamo/recipients/suppressions.py",
        "left = left[decided:]",
        "left = left[len(left) :]",
        "tests/contracts/test_suppressed.py::test_many_addresses_are_looked_for_in_pages_of_the_list[40-1]",
    ),
    Mutant(
        "people at the end of a page of a long list are looked for behind it",
        11,
        "shared/adapters/dynamo/recipients/suppressions.py",
        'found |= wanted.keys() & {x["sk"]["S"] for x in page["Items"]}',
        'found |= wanted.keys() & {x["sk"]["S"] for x in page["Items"][:-1]}',
        "tests/contracts/test_suppressed.py::test_many_addresses_are_looked_for_in_pages_of_the_list[40-1]",
    ),
)

DIGESTS: Final = (*_ADDED, *_MADE, *_CLOSED, *_CLEANED, *_SUPPRESSED)
