"""Forms as a vendor's API reads them: what HTTP clients write is read, and what is cut off or broken is refused."""

import pytest

from simulator.formats.forms import File, Form, Malformed, parse

KIND = "multipart/form-data; boundary=x"
HEAD = b'--x\r\nContent-Disposition: form-data; name="a"'
PART = HEAD + b"\r\n\r\nv"
CUT = "unable to parse request: unexpected EOF"
BROKEN = "malformed multipart/form-data request"


def one(body: bytes) -> Form:
    return parse(KIND, body)


def test_fields_keep_their_order_and_repeats_and_files_their_bytes() -> None:
    data = bytes(range(256)) * 400 + b"\r\n--y\r\n"
    file = b'\r\n--x\r\nContent-Disposition: form-data; name="f"; filename="a %22b%22.bin"\r\n\r\n' + data
    found = one(PART + b"\r\n" + HEAD + b"\r\n\r\n" + b"w" * 200_000 + file + b"\r\n--x--\r\n")
    assert found.fields == {"a": ["v", "w" * 200_000]}
    assert found.files == [File("f", 'a "b".bin', "application/octet-stream", data)]
    assert (found.first("a"), found.first("none")) == ("v", "")


@pytest.mark.parametrize("name", ['"\u00fc"', '"%C3%BC"'])
def test_a_name_may_be_any_text(name: str) -> None:
    body = f"--x\r\nContent-Disposition: form-data; name={name}\r\n\r\n\u00fc\r\n--x--".encode()
    assert list(one(body).fields.values()) == [["\u00fc"]]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", CUT),
        (b"--x\r\n", CUT),
        (PART, CUT),
        (PART + b"\r\n--x", CUT),
        (PART + b"\r\n--x\r\n", CUT),
        (PART.replace(b"\r\n", b"\n") + b"\n--x--", BROKEN),
        (PART + b"\r\n--xylophone\r\n--x--", BROKEN),
        (b"--x\r\nContent-Disposition: attachment; name=a\r\n\r\nv\r\n--x--", BROKEN),
        (b"--x\r\nA: b\r\n\r\nv\r\n--x--", BROKEN),
        (b'--x\r\nContent-Disposition: form-data;\r\n name="a"\r\n\r\nv\r\n--x--', BROKEN),
        (PART + b"\xff\r\n--x--", BROKEN),
        (HEAD + b"\r\nContent-Length: 1\r\n\r\nlonger\r\n--x--", BROKEN),
    ],
)
def test_a_body_that_is_cut_off_or_broken_is_refused(body: bytes, text: str) -> None:
    with pytest.raises(Malformed, match=f"^{text}$"):
        one(body)


@pytest.mark.parametrize("kind", ["text/plain", "", "multipart/form-data", "multipart/form-data; boundary="])
def test_another_content_type_is_refused(kind: str) -> None:
    with pytest.raises(Malformed):
        parse(kind, PART + b"\r\n--x--")
