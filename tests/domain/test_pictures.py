"""Pictures: what is one, by its bytes alone, and what of it is kept."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.pictures.parts import NoPicture
from shared.domain.pictures.picture import MAX_BYTES, MAX_SIDE, Picture, PictureKind, kind_of
from shared.domain.pictures.reading import cleaned
from tests.fakes import image_files as made
from tests.tiers import examples

PLAIN = {
    PictureKind.PNG: made.png(),
    PictureKind.JPEG: made.jpeg(),
    PictureKind.GIF: made.gif(),
    PictureKind.WEBP: made.webp(),
}
LOOP = made.gif_extension(0xFF, b"NETSCAPE2.0", b"\x01\x00\x00")
SECRET = b"48.1374 N 11.5755 E"
PNG_TEXT = made.png_chunk(b"tEXt", b"GPS\x00" + SECRET)
ICC = made.png_chunk(b"iCCP", b"p3\x00\x00x")
ANIMATED = made.webp_chunk(b"ANMF", bytes(16) + made.lossless())


@pytest.mark.parametrize("kind", PictureKind)
def test_a_picture_is_known_by_its_bytes_and_stays_as_it_is(kind: PictureKind) -> None:
    found, clean = cleaned(PLAIN[kind])
    assert (found, clean.width, clean.height, clean.data) == (kind, 2, 3, PLAIN[kind])
    assert kind_of(f"x.{kind}") is kind
    assert kind.media_type == f"image/{kind.name.lower()}"


@pytest.mark.parametrize(
    ("with_it", "without"),
    [
        (made.png(2, 3, PNG_TEXT), made.png()),
        (made.png(2, 3, made.png_chunk(b"eXIf", SECRET), made.png_chunk(b"tIME", SECRET)), made.png()),
        (made.png(2, 3, ICC, made.png_chunk(b"iTXt", SECRET)), made.png(2, 3, ICC)),
        (made.jpeg(2, 3, made.segment(0xFE, SECRET)), made.jpeg()),
        (made.jpeg(2, 3, made.exif(1)), made.jpeg()),
        (made.jpeg(2, 3, made.segment(0xE1, b"http://ns.adobe.com/xap/1.0/\x00" + SECRET)), made.jpeg()),
        (made.jpeg(2, 3, made.segment(0xE2, b"MPF\x00" + SECRET)), made.jpeg()),
        (made.jpeg(2, 3, made.segment(0xED, b"Photoshop 3.0\x00" + SECRET)), made.jpeg()),
        (made.gif(2, 3, made.gif_extension(0xFE, SECRET)), made.gif()),
        (made.gif(2, 3, made.gif_extension(0xFF, b"XMP DataXMP", SECRET)), made.gif()),
        (made.gif(2, 3, made.gif_extension(0x01, bytes(12), SECRET)), made.gif()),
        (made.webp(made.lossless(), made.webp_chunk(b"EXIF", SECRET)), made.webp()),
        (
            made.webp(made.extended(flags=0x0C), made.lossless(), made.webp_chunk(b"XMP ", SECRET)),
            made.webp(made.extended(), made.lossless()),
        ),
    ],
    ids=map(str, range(13)),
)
def test_places_times_cameras_and_texts_are_left_out(with_it: bytes, without: bytes) -> None:
    assert cleaned(with_it)[1].data == without
    assert SECRET not in without


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("turned", [3, 6, 8])
def test_a_phone_s_picture_stays_upright(turned: int, *, little: bool) -> None:
    clean = cleaned(made.jpeg(2, 3, made.exif(turned, little=little)))[1]
    assert b"Cam" not in clean.data
    assert clean.data.count(b"Exif") == 1
    assert cleaned(clean.data)[1] == clean


@pytest.mark.parametrize(
    "broken", [b"", b"II", b"XX*\x00", b"II*\x00\xff\xff\xff\xff", b"II*\x00\x08\x00\x00\x00\x09\x00"]
)
def test_exif_that_is_broken_turns_nothing(broken: bytes) -> None:
    assert cleaned(made.jpeg(2, 3, made.segment(0xE1, b"Exif\x00\x00" + broken)))[1].data == made.jpeg()
    assert cleaned(made.jpeg(2, 3, made.exif(9)))[1].data == made.jpeg()


@pytest.mark.parametrize(
    "whole",
    [
        made.png(2, 3, ICC),
        made.jpeg(2, 3, made.segment(0xE2, b"ICC_PROFILE\x00\x01\x01colours")),
        made.jpeg(2, 3, frame=0xC2),
        made.gif(2, 3, LOOP, made.gif_extension(0xF9, bytes(4))),
        made.webp(made.lossy()),
        made.webp(made.extended(4, 4), made.webp_chunk(b"ANIM", bytes(6)), ANIMATED, ANIMATED),
    ],
)
def test_what_changes_the_looks_is_kept(whole: bytes) -> None:
    assert cleaned(whole)[1].data == whole


@pytest.mark.parametrize("kind", PictureKind)
def test_nothing_behind_the_end_is_kept(kind: PictureKind) -> None:
    assert cleaned(PLAIN[kind] + b"PK\x03\x04<script>alert(1)</script>")[1].data == PLAIN[kind]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"", "no PNG"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "no PNG"),
        (b"<!doctype html>", "no PNG"),
        (b"BM" + bytes(100), "no PNG"),
        (bytes(MAX_BYTES + 1), "1,048,577 bytes"),
        (made.png(MAX_SIDE + 1, 1), "4,097 by 1 pixels"),
        (made.png(1, 0), "1 by 0 pixels"),
        (made.jpeg(65_535, 65_535), "65,535 by 65,535"),
        (made.gif(1, MAX_SIDE + 1), "1 by 4,097"),
        (made.webp(made.lossless(16_384, 2)), "16,384 by 2"),
        (made.webp(made.lossy(0, 2)), "0 by 2"),
        (made.webp(made.extended(16_777_216, 1), made.lossless()), "16,777,216 by 1"),
        (made.gif(2, 3, frame=(3, 3)), "larger than the picture"),
        (made.webp(made.extended(2, 2), made.lossless()), "larger than the picture"),
        (made.png(2, 3, made.png_chunk(b"fcTL", bytes(4) + b"\x00\x00\x00\x09" * 4 + bytes(6))), "larger than"),
        (made.png(2, 3, made.png_chunk(b"fcTL", bytes(3))), "larger than"),
        (made.png()[:-5], "too early"),
        (made.png()[:33], "too early"),
        (made.jpeg()[:-2], "too early"),
        (made.gif()[:-1], "too early"),
        (made.webp()[:-1], "too early"),
        (made.png().replace(b"IDAT", b"IDAX"), "checksum"),
        (made.png(2, 3, made.png_chunk(b"IHDR", bytes(13))), "more than one header"),
        (made.png(2, 3, made.png_chunk(b"EVIL", b"")), "not known"),
        (made.jpeg(2, 3, frame=0xC3), "do not show"),
        (made.jpeg(2, 3, made.segment(0xC0, b"\x08\x00\x01\x00\x01\x01\x01\x11\x00")), "not one header"),
        (b"\xff\xd8\xff\xd9", "no pixels"),
        (b"\xff\xd8\xff\xd8", "where none belongs"),
        (made.jpeg().replace(b"\xff\xdb", b"\x00\xdb"), "between its parts"),
        (b"GIF88a" + made.gif()[6:], "known version"),
        (b"GIF89a" + bytes((1, 0, 1, 0, 0, 0, 0, 0x3B)), "no pixels"),
        (made.gif(2, 3, b"\x00"), "between its parts"),
        (made.webp(made.extended()), "no pixels"),
        (b"RIFF\x04\x00\x00\x00WAVE", "no WebP"),
        (made.webp(made.lossless(), made.extended()), "where it belongs"),
        (made.webp(made.webp_chunk(b"VP8L", b"\x00" * 8)), "begin as they should"),
        (made.webp(made.webp_chunk(b"VP8 ", b"\x00" * 11)), "begin as they should"),
        (made.webp(ANIMATED), "not one of a WebP"),
        (made.webp(made.extended(), made.webp_chunk(b"ANMF", bytes(16) + made.webp_chunk(b"EVIL", b""))), "not known"),
    ],
)
def test_what_is_no_picture_is_refused_with_a_reason(bad: bytes, why: str) -> None:
    with pytest.raises(NoPicture, match=why):
        cleaned(bad)


@settings(max_examples=examples(400))
@given(
    kind=st.sampled_from(list(PictureKind)),
    cut=st.integers(0, 200),
    place=st.integers(0, 200),
    change=st.binary(max_size=12),
)
def test_any_damage_is_refused_or_leaves_a_picture_that_stays_as_it_is(
    kind: PictureKind, cut: int, place: int, change: bytes
) -> None:
    whole = PLAIN[kind]
    at = place % len(whole)
    data = (whole[:at] + change + whole[at + len(change) :])[: len(whole) - cut % 3]
    try:
        found, clean = cleaned(data)
    except NoPicture:
        return
    assert cleaned(clean.data) == (found, clean)
    assert len(clean.data) <= len(data) + 32


def test_a_picture_has_an_address_that_names_its_account_and_nothing_else() -> None:
    found = Picture("a1#TEST", "0" * 32, "01m3250v00n197k5j0fjpyam13.png", 2, 3, 80, 1)
    assert found.path == "images/a1/01m3250v00n197k5j0fjpyam13.png"
    assert found.kind is PictureKind.PNG
