"""The methods of the Python SDK: one for each operation, and one for each list that returns an iterator."""

import json
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tools.sdks.document import PREFIX, QueryParameter, RequestBody, SdkOperation

HEAD: Final = '''"""The operations of the API. Made by `make sdks` from the OpenAPI document: changes here are lost."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Literal

from posthaste_sdk._calls import AsyncCaller, Caller, Request
from posthaste_sdk._generated import models
'''
_KEYED: Final = {"keyed": "True", "key": "idempotency_key"}
SCALARS: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def module(operations: Sequence[SdkOperation]) -> str:
    """Return the text of the module with the methods."""
    lines = [HEAD]
    for asynchronous in (False, True):
        name, base = ("AsyncOperations", "AsyncCaller") if asynchronous else ("Operations", "Caller")
        lines += ["", f"class {name}({base}):", '    """A method for each operation of the API."""', ""]
        for each in operations:
            lines += _method(each, asynchronous=asynchronous)
            if each.items:
                lines += _iterator(each, asynchronous=asynchronous)
    return "\n".join(lines).rstrip() + "\n"


def codes(known: Mapping[str, tuple[int, str]]) -> str:
    """Return the text of the module with the codes of errors; `known`: status and text by code."""
    rows = [f"    {json.dumps(code)},  # {status}" for code, (status, _) in known.items()]
    head = '"""The codes of errors. Made by `make sdks`: changes here are lost."""\n\nfrom typing import Literal\n'
    return "\n".join([head, "ErrorCode = Literal[", *rows, "]", ""])


def snake(name: str) -> str:
    """Return a name of words in camel case or with hyphens as Python writes it."""
    found = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()
    return f"{found}_" if keyword.iskeyword(found) else found


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a parameter."""
    if "$ref" in schema:
        return f"models.{schema['$ref'].removeprefix(PREFIX)}"
    if "enum" in schema:
        return f"Literal[{', '.join(json.dumps(value) for value in schema['enum'])}]"
    if schema.get("type") == "array":
        return f"Sequence[{_type(schema['items'])}]"
    return SCALARS[schema["type"]]


def _arguments(operation: SdkOperation, but: Iterable[str] = ()) -> Iterator[str]:
    """Yield the parameters of a method, `self` included."""
    yield "self"
    yield from (f"{snake(place)}: str" for place in operation.places)
    body = operation.body
    if body is not None:
        kind = f"models.{body.model}" + (" | str | bytes" if body.media else "")
        yield f"body: {kind}" + ("" if body.required else " | None = None")
    named = [_argument(p) for p in operation.query if p.name not in but]
    named += ["idempotency_key: str | None = None"] if operation.keyed else []
    if named:
        yield "*"
        yield from named


def _argument(parameter: QueryParameter) -> str:
    kind = _type(parameter.schema)
    return f"{snake(parameter.name)}: {kind}" + ("" if parameter.required else " | None = None")


def _method(operation: SdkOperation, *, asynchronous: bool) -> Iterator[str]:
    word, wait = ("async def", "await ") if asynchronous else ("def", "")
    yield f"    {word} {snake(operation.name)}("
    yield from (f"        {argument}," for argument in _arguments(operation))
    answer = " | ".join(f"models.{name}" for name in operation.answers)
    yield f"    ) -> {answer}:"
    yield f'        """{_sentence(operation.summary)}"""'
    yield f"        found: {answer} = {wait}self._call("
    yield f"            {_request(operation)}"
    yield "        )"
    yield "        return found"
    yield ""


def _iterator(operation: SdkOperation, *, asynchronous: bool) -> Iterator[str]:
    kind = "AsyncIterator" if asynchronous else "Iterator"
    yield f"    def {snake(operation.name).replace('list_', 'iter_', 1)}("
    yield from (f"        {argument}," for argument in _arguments(operation, but={"cursor"}))
    yield f"    ) -> {kind}[models.{operation.items}]:"
    yield f'        """{_sentence(operation.summary)} Pages are fetched as they are needed."""'
    yield f"        return self._each({_request(operation, but={'cursor'})})"
    yield ""


def _request(operation: SdkOperation, but: Iterable[str] = ()) -> str:
    """Return the expression that makes the request."""
    named = {
        "places": _mapping((p, snake(p)) for p in operation.places),
        "query": _mapping((p.name, snake(p.name)) for p in operation.query if p.name not in but),
        **_body(operation.body),
        **(_KEYED if operation.keyed else {}),
        "array": "True" if operation.array else "",
        "gone": _mapping(map(_gone, operation.gone.items())),
    }
    words = [f"{name}={value}" for name, value in named.items() if value]
    return f"Request({', '.join([json.dumps(operation.method), json.dumps(operation.path), *words])})"


def _body(body: RequestBody | None) -> dict[str, str]:
    """Return the arguments of a request's body, if it has one."""
    if body is None:
        return {}
    return {"body": "body", "media": json.dumps(body.media) if body.media else ""}


def _mapping(values: Iterable[tuple[str, str]]) -> str:
    """Return the text of a dict of names and expressions; empty if there are none."""
    found = ", ".join(f"{json.dumps(name)}: {value}" for name, value in values)
    return f"{{{found}}}" if found else ""


def _gone(field: tuple[str, str]) -> tuple[str, str]:
    """Return a field of the answer about a missing thing, with the expression of its value."""
    name, place = field
    return name, snake(place) if place else "True"


def _sentence(summary: str) -> str:
    return summary.rstrip(".").replace("\\", "\\\\").replace('"', "'") + "."
