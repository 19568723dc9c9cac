"""Sabotages of the router before several cells."""

from typing import Final

from tests.mutants.mutant import Mutant

ROUTER: Final = "tests/router/test_router.py"
HANDLER: Final = "functions/router/handler.py"
DIRECTORY: Final = "functions/router/directory.py"

CELLS: Final = (
    Mutant(
        "a key is refused while its cell is silent",
        3,
        DIRECTORY,
        "            silent |= here is None\n",
        "",
        f"{ROUTER}::test_an_unknown_key_is_not_refused_while_a_cell_is_silent",
    ),
    Mutant(
        "random keys ask the cells without end",
        9,
        DIRECTORY,
        "        if self._asks < 1:\n",
        "        if False:\n",
        f"{ROUTER}::test_random_keys_ask_the_cells_seldom_and_keep_no_known_key_out",
    ),
    Mutant(
        "an unknown key is asked for each time",
        9,
        DIRECTORY,
        "            self._unknown[caller] = now + REFUSED\n",
        "",
        f"{ROUTER}::test_an_unknown_key_is_refused_and_asked_for_once_in_a_while",
    ),
    Mutant(
        "a lost answer counts as a request that was not sent",
        1,
        HANDLER,
        '        raise Problem("cell_answer_lost", headers={"Retry-After": "5"}) from None\n',
        '        raise Problem("cell_unavailable", headers={"Retry-After": "5"}) from None\n',
        f"{ROUTER}::test_a_cell_that_does_not_answer_gets_each_request_once[POST]",
    ),
    Mutant(
        "an account that has moved is not looked for",
        3,
        HANDLER,
        '    return isinstance(said, dict) and said.get("code") == MOVED\n',
        "    return False\n",
        f"{ROUTER}::test_an_account_that_moved_is_found_by_the_next_request",
    ),
    Mutant(
        "the text of a key goes to every cell",
        9,
        "functions/router/services.py",
        '"GET", address + caller.asked, headers={}',
        '"GET", address + caller.asked, headers={"x-caller": caller.route}',
        f"{ROUTER}::test_a_question_names_a_hash_and_nothing_else",
    ),
)
