"""Sabotages of the guard between accounts' URLs and the network."""

from typing import Final

from tests.mutants.mutant import Mutant

_RULES: Final = "shared/domain/hooks/addresses.py"
_CLIENT: Final = "shared/adapters/http/guarded.py"
_TEST_RULES: Final = "tests/domain/hooks/test_addresses.py"
_TEST_CLIENT: Final = "tests/adapters/test_guarded.py"

GUARDED: Final = (
    Mutant(
        "one public address of a name is enough",
        9,
        _RULES,
        "return bool(checked) and all(checked)",
        "return any(checked)",
        f"{_TEST_CLIENT}::test_a_name_with_one_private_address_is_not_called[answers1]",
    ),
    Mutant(
        "an address of the 6to4 network is judged as it stands",
        9,
        _RULES,
        '    (IPv6Network("2002::/16"), 80),  # 6to4\n',
        "",
        f"{_TEST_RULES}::test_an_address_that_is_not_public_is_refused[2002:a9fe:a9fe::1]",
    ),
    Mutant(
        "metadata services are public",
        9,
        _RULES,
        '        "169.254.0.0/16",  # link-local: metadata services\n',
        "",
        f"{_TEST_RULES}::test_an_address_that_is_not_public_is_refused[169.254.169.254]",
    ),
    Mutant(
        "a host may be a name of one label",
        9,
        _RULES,
        "if len(labels) == 1 or len(host) > _MAX_NAME or not",
        "if len(host) > _MAX_NAME or not",
        f"{_TEST_RULES}::test_every_other_url_is_refused_with_a_sentence[https://localhost]",
    ),
    Mutant(
        "the connection resolves the name again",
        9,
        _CLIENT,
        "self._connect(address, place.port,",
        "self._connect(place.host, place.port,",
        f"{_TEST_CLIENT}::test_it_connects_to_the_checked_address_and_verifies_the_name",
    ),
    Mutant(
        "the local exception holds for https as well",
        9,
        _CLIENT,
        "local=self._local and not place.tls",
        "local=self._local",
        f"{_TEST_CLIENT}::test_the_local_exception_is_for_http_to_loopback_only",
    ),
    Mutant(
        "an address that was checked long ago is still called",
        9,
        _CLIENT,
        "                now - checked.at <= LIFE_SECONDS\n                and ",
        "                ",
        f"{_TEST_CLIENT}::test_a_connection_is_used_again_for_some_seconds",
    ),
)
