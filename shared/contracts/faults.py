"""Sentences about invalid fields, for clients of the API and for operators: pydantic's own are for programmers."""

from collections.abc import Mapping
from typing import Any, Final

SENTENCES: Final[Mapping[str, str]] = {
    "missing": "is required",
    "extra_forbidden": "is unknown here",
    "string_type": "must be a string",
    "string_too_short": "must have {min_length} or more characters",
    "string_too_long": "must have {max_length} or fewer characters",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "too_short": "must have {min_length} or more items",
    "too_long": "must have {max_length} or fewer items",
    "json_type": "must be JSON text",
    "invalid_key": "has a name that is not a string",
    "none_required": "must be null or left out",
    "int_parsing_size": "is too large a number",
    "multiple_of": "must be a multiple of {multiple_of}",
    "string_unicode": "is not valid Unicode",
    "date_type": "must be a day, as in 2026-11-20",
    "date_parsing": "must be a day, as in 2026-11-20",
    "date_from_datetime_parsing": "must be a day, as in 2026-11-20",
    "date_from_datetime_inexact": "must be a day, as in 2026-11-20",
    "datetime_type": "must be a time with its offset, as in 2026-11-20T09:00:00Z",
    "datetime_parsing": "must be a time with its offset, as in 2026-11-20T09:00:00Z",
    "datetime_from_date_parsing": "must be a time with its offset, as in 2026-11-20T09:00:00Z",
    "datetime_object_invalid": "must be a time with its offset, as in 2026-11-20T09:00:00Z",
    "timezone_aware": "must be a time with its offset, as in 2026-11-20T09:00:00Z",
    "union_tag_invalid": "has a value of the wrong type",
    "union_tag_not_found": "has a value of the wrong type",
    "recursion_loop": "is nested too deeply",
    "recursion_depth_exceeded": "is nested too deeply",
}
"""Kind of pydantic's error → what is wrong, with the error's own figures."""

ANYTHING_ELSE: Final = "is not valid"
OWN: Final = frozenset({"value_error", "assertion_error"})
"""Kinds of errors whose sentences are ours: a validator raised them."""
PATTERNS: Final[Mapping[str, str]] = {
    r"^[0-9a-f]{32}$": "must be the id of what you were shown: 32 hexadecimal digits",
    r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$": "must be one line, without control characters",
    r"^[^\x00]+$": "must not have a NUL character",
    r"^[^\x00]*$": "must not have a NUL character",
    r"^[A-Z]{2}$": "must be a country's two capital letters, as in DE",
    r"^([A-Z]{2})?$": "must be a country's two capital letters, as in DE, or empty",
    r"^[a-z_]+\.[a-z_]+$": "must be two words with a dot between them, as in job.stopped",
    r"^[^\x00-\x1f\x7f-\x9f/\\]+$": "must be a file's name, without slashes and control characters",
    r"^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$": "must be a media type, as in application/pdf",
    r"^[A-Za-z0-9_.@-]*$": "must have only letters, digits and _ . @ -",
    r"^[A-Za-z0-9_.-]+$": "must have only letters, digits and _ . -",
    r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}$": "must be a language, as in en-AU",
    r"^https://[!-~]+$": "must begin with https:// and have no spaces",
    r"^[02-8*#]$": "must name keys of a telephone: 0, 2 to 8, * or #",
    r"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$": "must have only small letters and digits, and hyphens within",
    r"^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9])?$": "must have only letters, digits, and spaces and . _ - "
    "within it",
    r"^$|^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$": "must be one line, without control characters, or empty",
    r"^[!-~]+$": "must have only printable ASCII characters, without spaces",
    r"^[0-9a-f]{64}$": "must be a SHA-256 in hexadecimal: 64 digits and small letters a to f",
    r"^[0-9]{1,2}( *- *[0-9]{1,2})?$": "must be an hour or two, as in 9 or 9-12",
}
"""Pattern of a field → the pattern in words."""


def fault(error: Mapping[str, Any]) -> str:
    """Return what is wrong with a field, to follow its name; empty if the error has a sentence of our own.

    A library's sentence is never returned.

    Args:
        error: one of `ValidationError.errors()`.
    """
    if error["type"] in OWN:
        return ""
    figures = {name: _plain(x) for name, x in (error.get("ctx") or {}).items()}
    if "pattern" in figures:
        return PATTERNS.get(str(figures["pattern"]), ANYTHING_ELSE)
    return SENTENCES.get(error["type"], ANYTHING_ELSE).format(**figures)


def _plain(figure: object) -> object:
    """Return a limit as people write it: 1000000, not 1e+06 or 1000000.0."""
    return int(figure) if isinstance(figure, float) and figure.is_integer() else figure
