"""Sentences about invalid fields, for clients of the API and for operators: pydantic's own are for programmers."""

from collections.abc import Mapping
from typing import Any, Final

SENTENCES: Final[Mapping[str, str]] = {
    "missing": "is required",
    "extra_forbidden": "is unknown here",
    "string_type": "must be a string",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
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
}
"""Kind of pydantic's error → what is wrong, with the error's own figures."""


def fault(error: Mapping[str, Any]) -> str:
    """Return what is wrong with a field, to follow its name; empty if the error has a sentence of our own.

    Args:
        error: one of `ValidationError.errors()`.
    """
    sentence = SENTENCES.get(error["type"], "")
    figures = {name: f"{x:g}" if isinstance(x, float) else x for name, x in error.get("ctx", {}).items()}
    return sentence.format(**figures) if sentence else ""
