"""Patterns that are refused at once.

Schemathesis writes the bounds of a text into its pattern. The compiler of patterns takes seconds to refuse one that
may repeat two million times, and it is asked again for each schema around that pattern. Here it is asked once.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Final

import jsonschema_rs
from schemathesis.core import jsonschema

_LARGE: Final = re.compile(r'"pattern": ("(?:[^"\\]|\\.)*\{\d*,\d{6,}\}(?:[^"\\]|\\.)*")')
_PLACES: Final = ((vars(jsonschema_rs), "canonicalize"), (vars(jsonschema), "_build_validator"))


class Remembering:
    """A compiler of schemas that remembers its refusal of a schema with one of the large patterns."""

    def __init__(self, compiler: Callable[..., Any]) -> None:
        self._compiler = compiler
        self._refusals: dict[str, Exception] = {}

    def __call__(self, schema: Any, *args: Any, **kwargs: Any) -> Any:
        """Compile, or raise what was raised for a schema with the same pattern."""
        own = (
            {k: v for k, v in schema.items() if k != jsonschema.BUNDLE_STORAGE_KEY} if isinstance(schema, dict) else {}
        )
        large = _LARGE.findall(json.dumps(own, default=str))
        for pattern in large:
            if pattern in self._refusals:
                raise self._refusals[pattern].with_traceback(None)
        try:
            return self._compiler(schema, *args, **kwargs)
        except Exception as refusal:
            self._refusals |= {pattern: refusal for pattern in large if pattern in str(refusal)}
            raise


def install() -> None:
    """Have Schemathesis use such compilers in this process; a repeat changes nothing."""
    for room, name in _PLACES:
        if not isinstance(room[name], Remembering):
            room[name] = Remembering(room[name])
