"""Sabotages of the router before several cells."""

from typing import Final

from tests.mutants.mutant import Mutant

ROUTER: Final = "tests/router/test_router.py"
MOVING: Final = "tests/router/test_moving.py"
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
        "    return all(found.headers.get(name.lower()) == said for name, said in AWAY.items())\n",
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
    Mutant(
        "an account is packed while requests are on their way",
        3,
        "functions/operate/access/moving.py",
        "    if not body.since and int(services.clock.now() * 1000) < services.moving_accounts.quiet_at(whose):\n",
        "    if False:\n",
        f"{MOVING}::test_nothing_is_packed_before_all_requests_have_ended",
    ),
    Mutant(
        "an account with open jobs moves",
        3,
        "functions/operate/access/moving.py",
        "        if jobs := _open(services, whose):\n",
        "        if jobs := _open(services, ''):\n",
        f"{MOVING}::test_an_account_with_open_jobs_does_not_begin",
    ),
    Mutant(
        "idempotency records stay behind",
        1,
        "shared/adapters/dynamo/cells/packing.py",
        "(programs_pk, _idempotency_pk, _spent_pk)}",
        "(programs_pk, _spent_pk)}",
        f"{MOVING}::test_a_keys_next_batch_goes_to_the_new_cell_and_none_is_sent_twice",
    ),
    Mutant(
        "an account sends as soon as it arrives",
        1,
        "shared/adapters/dynamo/cells/packing.py",
        '            item = {**item, "suspended": s("arrives from another cell"), "suspended_at": n(0)}\n',
        "            pass\n",
        f"{MOVING}::test_neither_cell_accepts_between_its_steps",
    ),
)
