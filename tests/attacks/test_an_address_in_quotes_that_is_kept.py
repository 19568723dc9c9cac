"""A provider quotes a person's address whose local part is in quotes: it stays in the words that are kept of it.

Words of providers outlive the erasing of a person. Then: `"john doe"@example.com` was no address there.
"""

import pytest

from shared.providers._common import digest, redacted, refusal_words

SPELLINGS = [
    '"john doe"@example.com',
    '\\"john doe\\"@example.com',
    '"john"@example.com',
    '"o\\"john"@example.com',
    '"john,ann"@example.com',
    '"john..x."@docomo.ne.jp',
    "john..x.@docomo.ne.jp",
]


@pytest.mark.promise(9)
@pytest.mark.parametrize("address", SPELLINGS)
@pytest.mark.parametrize("text", ["550 {} is unknown", "550 <{}>: unknown", "{}", 'the "user" {} and "others"'])
def test_no_word_of_an_event_keeps_it(address: str, text: str) -> None:
    kept = redacted(text.format(address))
    assert kept == text.format("<address>")


@pytest.mark.parametrize("given", ['"john doe"@example.com', "john doe@example.com"])
def test_no_word_of_a_refusal_keeps_the_recipient_in_either_spelling(given: str) -> None:
    assert refusal_words(f"550 {given}: no", '"john doe"@example.com') == "550 <recipient>: no"


def test_quotes_without_an_address_stay() -> None:
    assert redacted('"ann" and "ben" at @example') == '"ann" and "ben" at @example'
    assert redacted('say "no" to a@b.example') == 'say "no" to <address>'


@pytest.mark.parametrize("given", ['"John..x"@docomo.ne.jp', "john..x@docomo.ne.jp"])
def test_a_report_about_the_recipient_beside_a_copy_is_heard_in_either_spelling(given: str) -> None:
    assert digest("ref", given) == digest("ref", '"john..x"@docomo.ne.jp')
    assert digest("ref", given) != digest("ref", "copy@docomo.ne.jp")
