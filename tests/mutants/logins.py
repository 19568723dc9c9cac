"""Sabotages of logins: where keys are kept, and where they go."""

from typing import Final

from tests.mutants.mutant import Mutant

STORE: Final = "cli/login/store.py"
ENVIRONMENT: Final = "cli/environment.py"
TESTS: Final = "tests/cli/test_login.py"

LOGINS: Final = (
    Mutant(
        "the key of the current login goes to any address",
        9,
        ENVIRONMENT,
        "login = logins_of(environ).find(url)",
        "login = logins_of(environ).current()",
        f"{TESTS}::test_a_key_goes_to_no_address_but_its_own",
    ),
    Mutant(
        "the login comes before the environment's address",
        9,
        ENVIRONMENT,
        "if not key and (login := logins_of(environ).current()):",
        "if login := logins_of(environ).current():",
        f"{TESTS}::test_a_key_goes_to_no_address_but_its_own",
    ),
    Mutant(
        "a file of keys that others can read is used",
        9,
        STORE,
        "facts.st_mode & OTHERS",
        "facts.st_mode & 0",
        f"{TESTS}::test_a_file_that_others_can_read_is_refused",
    ),
    Mutant(
        "a key that the API refuses is stored",
        9,
        "cli/login/commands.py",
        "if error.problem != MISSING_SCOPE:",
        "if not error.problem:",
        f"{TESTS}::test_a_key_that_the_api_refuses_is_not_stored[401]",
    ),
    Mutant(
        "a key stays in the keyring after its login is forgotten",
        9,
        STORE,
        "            keyring.delete_password(SERVICE, url)",
        "            keyring.get_password(SERVICE, url)",
        f"{TESTS}::test_logging_out_forgets_one_or_all_logins",
    ),
)
