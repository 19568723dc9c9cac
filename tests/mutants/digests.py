"""Sabotages of the rules of digests: each event is in exactly one window."""

from typing import Final

from tests.mutants.mutant import Mutant

_WINDOWS: Final = "shared/adapters/dynamo/digests/windows.py"

DIGESTS: Final = (
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
        "tests/engine/digests/test_storm.py::test_a_storm_of_adders[0]",
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
