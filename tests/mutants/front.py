"""Sabotages of the edge: what came beside it, and where its clients come from."""

from typing import Final

from tests.mutants.mutant import Mutant

EDGE: Final = "shared/web/access/edge.py"
TESTS: Final = "tests/attacks/test_an_origin_beside_the_edge.py"

FRONT: Final = (
    Mutant(
        "a closed origin answers what came beside the edge",
        9,
        EDGE,
        "            return None if self._closed else event\n",
        "            return event\n",
        f"{TESTS}::test_a_key_that_was_taken_away_opens_nothing",
    ),
    Mutant(
        "an empty key of the edge opens the origin",
        9,
        EDGE,
        "if not given or not _is_one(",
        "if not _is_one(",
        f"{TESTS}::test_without_any_key_the_edge_is_shut[keys1]",
    ),
    Mutant(
        "a client says by a header which address it has",
        9,
        EDGE,
        '_address(str(headers.get(VIEWER, "")))',
        'str(headers.get("x-forwarded-for", "")) or _address(str(headers.get(VIEWER, "")))',
        f"{TESTS}::test_a_client_says_nothing_about_where_it_comes_from",
    ),
    Mutant(
        "the viewer of a request beside the edge is believed",
        9,
        EDGE,
        "if not given or not _is_one(given, self._keys().values()):",
        "if self._closed and not _is_one(given, self._keys().values()):",
        f"{TESTS}::test_while_the_origin_is_open_the_viewer_is_believed_of_the_edge_alone",
    ),
    Mutant(
        "posts of providers come beside the edge",
        9,
        "functions/webhooks/receive.py",
        "if refused := _beside(event, using.edge):",
        "if refused := {}:",
        f"{TESTS}::test_posts_of_providers_come_by_the_edge_or_to_the_function[headers0-send.example.eu-403]",
    ),
)
