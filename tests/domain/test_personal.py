"""What one recipient's message has of its own: how it is kept, and what it makes of the job's content."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.content.content import Content, Mailbox
from shared.domain.content.personal import Personal, personal_of, personalised, uncopied_values
from shared.domain.erasure import without
from shared.domain.jobs.chunks import Recipient

PLAIN = Content(Mailbox("news@example.com"), "Hello -name-", html="<p>-name-</p>", text="-name-!")
ANN, BEN = Mailbox("ann@example.org", "Ann"), Mailbox("Ben@example.org")
BOXES = st.tuples() | st.tuples(st.builds(Mailbox, st.text(min_size=1), st.text()))
TEXTS = st.dictionaries(st.text(min_size=1), st.text())
OWN = st.builds(
    Personal,
    subject=st.text(),
    headers=st.lists(st.tuples(st.text(), st.text())).map(tuple),
    texts=TEXTS,
    beside=BOXES,
    cc=BOXES,
    bcc=BOXES,
    labels=st.lists(st.text()).map(tuple),
    metadata=TEXTS,
)


@given(OWN)
def test_what_is_kept_with_a_recipient_is_read_as_it_was(own: Personal) -> None:
    assert personal_of({"name": "Ann", **own.values()}) == own


def test_a_recipient_without_parts_of_its_own_keeps_nothing() -> None:
    assert Personal().values() == {}
    assert personal_of({"name": "Ann"}) == Personal()
    assert not Personal(labels=("a",), metadata={"a": "b"}).differs
    assert all(x.differs for x in (Personal("Hi"), Personal(texts={"-a-": ""}), Personal(bcc=(ANN,))))


def test_texts_come_in_the_place_of_their_tags_as_they_are() -> None:
    own = Personal(texts={"-name-": "<b>-x-</b>\r\nBcc: e@x.example", "-x-": "never", "-n": "shorter"})
    made = personalised(PLAIN, own)
    assert made.html == "<p><b>-x-</b>\r\nBcc: e@x.example</p>"
    assert made.text == "<b>-x-</b>\r\nBcc: e@x.example!"
    assert made.subject == "Hello <b>-x-</b> Bcc: e@x.example", "a subject is one line"


def test_an_own_subject_and_own_headers_replace_those_of_the_job() -> None:
    content = replace(PLAIN, headers=(("X-One", "1"), ("X-Two", "2")), cc=(BEN,))
    own = Personal("Hi -name-", (("x-two", "own"),), {"-name-": "Ann"}, beside=(ANN,), bcc=(BEN,))
    made = personalised(replace(content, personal=True), own)
    assert made.subject == "Hi Ann"
    assert made.headers == (("X-One", "1"), ("x-two", "own"))
    assert (made.beside, made.cc, made.bcc, made.personal) == ((ANN,), (BEN,), (BEN,), False)


@pytest.mark.parametrize("role", ["beside", "cc", "bcc"])
def test_an_erased_person_is_no_copy_any_more(role: str) -> None:
    values = {"name": "Cleo", **Personal("Hi", **{role: (ANN, BEN)}).values()}  # type: ignore[arg-type]
    left = uncopied_values(values, {"ben@example.org"})
    assert left["name"] == "Cleo"
    assert personal_of(left) == Personal("Hi", **{role: (ANN,)})  # type: ignore[arg-type]
    assert uncopied_values({"name": "Cleo"}, {"ben@example.org"}) == {"name": "Cleo"}


@given(st.text(max_size=50), st.dictionaries(st.text(min_size=1, max_size=3), st.text(max_size=5), min_size=1))
def test_what_came_in_place_of_a_tag_is_not_read_again(text: str, texts: dict[str, str]) -> None:
    """Walks the text itself: at each place the longest tag wins."""
    out, i = "", 0
    while i < len(text):
        tag = max((t for t in texts if text.startswith(t, i)), key=len, default="")
        out += texts[tag] if tag else text[i]
        i += len(tag) or 1
    assert personalised(replace(PLAIN, text=text), Personal(texts=texts)).text == out


def test_a_person_who_got_copies_is_erased_from_each_recipients_own_parts() -> None:
    values = Personal("Hi", cc=(ANN, BEN), metadata={"order": "7"}).values()
    cleo = Recipient("cleo@example.org", "cleo@example.org", values=values)
    dora = Recipient("dora@example.org", "dora@example.org", values={"name": "Dora"})
    (left, same), found = without((cleo, dora), "ben@example.org")
    assert (personal_of(left.values).cc, personal_of(left.values).metadata, found) == ((ANN,), {"order": "7"}, 1)
    assert same is dora
    assert without((cleo,), "else@example.org") == ((cleo,), 0)
