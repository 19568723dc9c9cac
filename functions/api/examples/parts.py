"""Parts of the OpenAPI document that several operations have: each is written once, and named where it is used."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from shared.web.problems import CODES

RESPONSES: Final = "responses"
PARAMETERS: Final = "parameters"
_PREFIX: Final = "#/components/{kind}/{name}"
_PROBLEM: Final = "application/problem+json"
_IMPLIED: Final[tuple[tuple[str, object], ...]] = (
    ("headers", {}),
    ("parameters", []),
    ("required", False),
    ("default", None),
)
_NAMING: Final = ("properties", "schemas", "patternProperties", "paths", "headers", "responses", "content")
"""Keys of parts whose own keys are names."""


def prune(document: dict[str, Any]) -> None:
    """Remove the schemas that nothing refers to, such as a query's, whose fields are parameters.

    A title that is the schema's name is removed as well. Generators of clients read any other.
    """
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        if schema.get("title") == name:
            del schema["title"]
    bare = {**document, "components": {}}
    used, found = set[str](), _referred(bare)
    while found:
        used |= found
        found = set().union(*(_referred(schemas[name]) for name in found)) - used
    document["components"]["schemas"] = {name: schema for name, schema in schemas.items() if name in used}


def shorten(part: Any, *, named: bool = False) -> None:
    """Remove what is so without being said: no headers, no parameters, not required, null if left out.

    Args:
        part: of the document; it is changed.
        named: whether the keys of `part` are names, such as those of fields.
    """
    if isinstance(part, list):
        for one in part:
            shorten(one)
    elif isinstance(part, dict):
        if not named:
            _leave_out(part)
        for key, value in part.items():
            if named or not key.startswith("example"):
                shorten(value, named=not named and key in _NAMING)


def _leave_out(part: dict[str, Any]) -> None:
    """Remove what is implied from a part whose keys are no names."""
    for key in [key for key, value in part.items() if (key, value) in _IMPLIED]:
        del part[key]


def _referred(part: Any) -> set[str]:
    """Return the names of the schemas that a part of the document refers to."""
    return set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(part)))


def fold(document: dict[str, Any], usual: Collection[str]) -> None:
    """Move what operations share into the components `responses` and `parameters`, and refer to it.

    A problem's name is its status and its codes but the usual ones. If a name would be of two parts, it is the more
    frequent one's, and the other stays where it is.

    Args:
        document: as generated; it is changed.
        usual: codes that are in no name.
    """
    for kind in (RESPONSES, PARAMETERS):
        names: dict[str, str] = {}
        for text, times in _counted(document, kind).most_common():
            name = _name(json.loads(text), usual)
            if times > 1 and name and name not in names:
                names[name] = text
        named = {text: name for name, text in names.items()}
        for place, at in _places(document, kind):
            if name := named.get(_text(place[at]), ""):
                place[at] = {"$ref": _PREFIX.format(kind=kind, name=name)}
        document["components"][kind] = {name: json.loads(text) for name, text in sorted(names.items())}


def whole(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document whose operations have their responses and parameters, not references to them."""
    found = deepcopy(dict(document))
    for kind in (RESPONSES, PARAMETERS):
        known = found.get("components", {}).get(kind, {})
        for place, at in _places(found, kind):
            if "$ref" in place[at]:
                place[at] = known[place[at]["$ref"].rpartition("/")[2]]
    return found


def _places(document: Mapping[str, Any], kind: str) -> Iterator[tuple[Any, Any]]:
    """Yield each container of a part and where in it the part is: a status, or an index."""
    for methods in document["paths"].values():
        for operation in methods.values():
            inside = operation.get(kind, {})
            for at in list(inside) if isinstance(inside, dict) else range(len(inside)):
                yield inside, at


def _counted(document: Mapping[str, Any], kind: str) -> Counter[str]:
    return Counter(_text(place[at]) for place, at in _places(document, kind))


def _text(part: Any) -> str:
    """Return a part as text: what is equal has the same one, in the order of its fields."""
    return json.dumps(part, ensure_ascii=False)


def _name(part: Mapping[str, Any], usual: Collection[str]) -> str:
    """Return a part's name: of a parameter, an answer's model or a problem's status and codes; empty for any other."""
    if "name" in part:
        return str(part["name"])
    contents: Mapping[str, Any] = part.get("content", {})
    kind = next(iter(contents), "")
    if kind != _PROBLEM:
        return str(contents.get(kind, {}).get("schema", {}).get("$ref", "")).rpartition("/")[2]
    codes = [x.partition("`:")[0].removeprefix("`") for x in part["description"].split("\n\n")]
    known = [code for code in codes if code in CODES]
    return ".".join([str(CODES[known[0]][0]), *(code for code in known if code not in usual)]) if known else ""
