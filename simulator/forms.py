"""Bodies of HTML forms as a vendor's API reads them: `application/x-www-form-urlencoded` and `multipart/form-data`."""

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, unquote

MAX_FIELDS: Final = 20_000
_BOUNDARY: Final = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))', re.IGNORECASE)
_NAME: Final = re.compile(r'[;\s]name="((?:[^"\\]|\\.)*)"', re.IGNORECASE)
_FILENAME: Final = re.compile(r'[;\s]filename="((?:[^"\\]|\\.)*)"', re.IGNORECASE)


class Malformed(Exception):
    """The body is not what its content type says; the text is for the caller."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a multipart body. `name`: of its field."""

    name: str
    filename: str
    content_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Form:
    """Fields by name, each with all its values in order, and files."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    files: list[File] = field(default_factory=list)

    def first(self, name: str) -> str:
        """Return a field's first value, or the empty string."""
        values = self.fields.get(name)
        return values[0] if values else ""


def parse(content_type: str, body: bytes) -> Form:
    """Read a body; Malformed if it is neither kind of form, or a broken one."""
    kind = content_type.partition(";")[0].strip().lower()
    form = Form()
    if kind == "application/x-www-form-urlencoded":
        try:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
        except ValueError:
            raise Malformed("unable to parse request: invalid URL escape") from None
        for name, value in pairs:
            form.fields.setdefault(name, []).append(value)
        return form
    if kind != "multipart/form-data":
        raise Malformed(f"Invalid request content type. Expecting 'multipart/form-data' but got '{kind}'")
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        raise Malformed("malformed multipart/form-data request")
    mark = b"--" + (boundary[1] or boundary[2]).encode()
    parts = (b"\r\n" + body).split(b"\r\n" + mark)
    if len(parts) < 2 or not parts[-1].startswith(b"--"):  # noqa: PLR2004 - preamble and end
        raise Malformed("unable to parse request: unexpected EOF")
    for part in parts[1:-1]:
        _take(form, part)
    return form


def _take(form: Form, part: bytes) -> None:
    """Add one part: CRLF, its header lines, an empty line, its content."""
    head, blank, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
    lines = dict(line.split(":", 1) for line in head.decode("utf-8", "replace").split("\r\n") if ":" in line)
    headers = {name.strip().lower(): value.strip() for name, value in lines.items()}
    name = _NAME.search(headers.get("content-disposition", ""))
    if not blank or name is None:
        raise Malformed("malformed multipart/form-data request")
    filename = _FILENAME.search(headers["content-disposition"])
    if filename is None:
        try:
            form.fields.setdefault(_plain(name[1]), []).append(content.decode())
        except UnicodeDecodeError:
            raise Malformed("malformed multipart/form-data request") from None
    else:
        kind = headers.get("content-type", "application/octet-stream")
        form.files.append(File(_plain(name[1]), _plain(filename[1]), kind, content))


def _plain(text: str) -> str:
    """Undo what browsers and libraries do to names in part headers."""
    return unquote(text.replace('\\"', '"')) if "%" in text else text.replace('\\"', '"')
