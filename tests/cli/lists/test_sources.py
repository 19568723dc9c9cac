"""What encoding a list looks like, and that no file is read by a guess."""

import codecs
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cli.errors import Misused
from cli.lists.sources import BLOCK, as_utf8, guess

HEADER = "email;name\r\n"
LATIN = st.text(st.sampled_from('abc ,;\n"0é ü€ßñ«'), max_size=60)
MANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def file(folder: Path, data: bytes) -> Path:
    made = folder / "list.csv"
    made.write_bytes(data)
    return made


def read(made: Path, encoding: str = "", *, answer: bool | None = None) -> tuple[str, list[str]]:
    """Return a file's text as it is uploaded, and what was asked."""
    asked: list[str] = []

    def ask(question: str) -> bool:
        asked.append(question)
        return bool(answer)

    with as_utf8(made, encoding, None if answer is None else ask) as path:
        return path.read_bytes().decode("utf-8-sig"), asked


def read_bytes(made: Path, encoding: str) -> bytes:
    with as_utf8(made, encoding, None) as path:
        return path.read_bytes()


@MANY
@given(text=LATIN)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_utf8_is_never_asked_about(folder: Path, text: str, encoding: str) -> None:
    made = file(folder, (HEADER + text).encode(encoding))
    assert read(made) == (HEADER + text, [])


@MANY
@given(text=LATIN)
def test_windows_1252_is_recognised_and_read_as_it_was_written(folder: Path, text: str) -> None:
    assume("ß«" not in text and "ß€" not in text)  # the bytes of a letter in UTF-8
    data = (HEADER + text).encode("windows-1252")
    try:
        data.decode()
    except UnicodeDecodeError:
        made = file(folder, data)
        found = guess(made)
        assert "windows-1252" in [found.encoding, *(name for name, _ in found.others)]
        assert read(made, "windows-1252") == (HEADER + text, [])
        assert len(read(made, answer=True)[1]) == 1


@MANY
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=60))
@pytest.mark.parametrize("mark", [True, False])
@pytest.mark.parametrize("order", ["le", "be"])
def test_utf16_is_recognised_with_and_without_its_mark(folder: Path, text: str, order: str, mark: bool) -> None:  # noqa: FBT001
    encoding = f"utf-16-{order}"
    data = (HEADER + text).encode(encoding)
    assume(mark or len(text) < len(HEADER))
    start = {"le": codecs.BOM_UTF16_LE, "be": codecs.BOM_UTF16_BE}[order] if mark else b""
    made = file(folder, start + data)
    assert guess(made).encoding == ("utf-16" if mark else encoding)
    found, asked = read(made, answer=True)
    assert found == HEADER + text
    assert "It looks like UTF-16" in asked[0]


@MANY
@given(data=st.binary(min_size=1, max_size=300))
def test_any_bytes_are_utf8_or_asked_about_or_refused(folder: Path, data: bytes) -> None:
    made = file(folder, data)
    found = guess(made).encoding
    if found == "utf-8" and not guess(made).damaged:
        with as_utf8(made, "", None) as path:
            assert path == made, "the very file is uploaded"
    else:
        with pytest.raises(Misused):
            read(made)


@pytest.mark.slow
def test_a_letter_at_the_end_of_a_block_or_far_inside_is_found(folder: Path) -> None:
    for text in ("a" * (BLOCK - 1) + "é", "a" * (3 * BLOCK) + "é"):
        assert guess(file(folder, text.encode())).encoding == "utf-8"
        found = guess(file(folder, f"{text} z\n".encode("windows-1252")))
        assert found.encoding == "windows-1252"
        assert "é" in found.example
    assert guess(file(folder, "aé".encode()[:-1])).encoding == "windows-1252"


@pytest.mark.slow
def test_utf8_with_a_few_damaged_bytes_is_not_offered_as_another_encoding(folder: Path) -> None:
    good = "email;city\nann@example.org;Zürich\nben@example.org;Köln\n".encode()
    for bad, said in (
        (b"cem@example.org;Z\xfcrich\n", "is UTF-8 with 1 damaged byte in line 4\nrepair it"),
        (b"a\xff@example.org;\xfe\n" + good * 90_000 + b"\xff\n", "with 3 damaged bytes, the first in line 4\nrepair"),
    ):
        made = file(folder, good + bad + good)
        with pytest.raises(Misused, match=said):
            read(made, answer=True)
        assert read_bytes(made, "UTF8") == good + bad + good, "said to be UTF-8, it is uploaded as it is"
    found = guess(file(folder, good * 40_000 + "ü".encode()[:1]))
    assert (found.damaged, found.line) == (1, 120_001)


def test_a_question_shows_what_would_be_read(folder: Path) -> None:
    made = file(folder, b"email;city\nann@example.org;Z\xfcrich\n")
    with pytest.raises(Misused, match="nothing was uploaded"):
        read(made, answer=False)
    assert read(made, answer=True)[1] == [
        f"{made} is not UTF-8. It looks like Windows-1252, for example “xample.org;Zürich”. Read it so?"
    ]


def test_an_example_is_of_one_line(folder: Path) -> None:
    for end in (b"\n", b"\r\n", b"\r"):
        assert guess(file(folder, b"city" + end + b"\xd6rebro" + end + b"Oslo")).example == "Örebro"


def test_where_no_one_can_be_asked_the_encoding_must_be_given(folder: Path) -> None:
    made = file(folder, b"email;city\nann@example.org;Z\xfcrich\n")
    with pytest.raises(Misused, match="add --encoding windows-1252"):
        read(made)
    assert read(made, "Windows-1252")[0].endswith("Zürich\n")
    assert read(made, "iso-8859-2")[0].endswith("Zürich\n")


@pytest.mark.parametrize(
    ("data", "encoding", "said"),
    [
        (b"email\nZ\xfc\x01\n", "", "is not text in UTF-8"),
        (b"email\nZ\x81\n", "windows-1252", "cannot be read as cp1252"),
        (b"email\nZ\n\0", "utf-16", "cannot be read as utf-16"),
        (b"email\n", "klingon", "there is no encoding 'klingon'"),
        (b"email\n", "base64", "there is no encoding 'base64'"),
        (b"email\n", "undefined", "there is no encoding 'undefined'"),
    ],
)
def test_what_cannot_be_read_is_refused(folder: Path, data: bytes, encoding: str, said: str) -> None:
    with pytest.raises(Misused, match=said):
        read(file(folder, data), encoding, answer=True)


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-le", "utf-32-be"])
def test_utf32_is_not_taken_for_utf16(folder: Path, encoding: str) -> None:
    made = file(folder, f"{HEADER}a@x.org;Zoë\n".encode(encoding))
    assert guess(made).encoding == encoding
    assert read(made, answer=True)[0] == f"{HEADER}a@x.org;Zoë\n"


OTHERS = [
    ("windows-1250", "Łukasz Żółć"),
    ("windows-1250", "Elżbieta"),
    ("windows-1251", "Иван Петров"),
    ("macintosh", "José Núñez"),
    ("windows-1252", "Ångström «x» 5 €"),
]


@pytest.mark.parametrize(("encoding", "name"), OTHERS)
def test_what_no_text_of_a_code_page_has_speaks_against_it(folder: Path, encoding: str, name: str) -> None:
    made = file(folder, f"email;name\nann@example.org;{name}\n".encode(encoding))
    found, asked = read(made, answer=True)
    assert found.endswith(f"{name}\n")
    assert f"It looks like {encoding.capitalize()}, for example" in asked[0]


def test_other_code_pages_are_shown_with_what_they_make_of_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = file(folder, "email;name\nann@example.org;Jiří\n".encode("windows-1250"))
    with pytest.raises(Misused, match="--encoding windows-1250 reads it as “ample"):
        read(made, answer=False)
    assert "Windows-1250 would read it as “ample.org;Jiří”" in capsys.readouterr().err
    with pytest.raises(Misused, match="--encoding windows-1250 reads it as"):
        read(made)
