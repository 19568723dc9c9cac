"""Calls of a table on moto, without the work that is the same for all of them.

A call takes moto and botocore several times as long as the work on the table. Here moto skips most of it:

- It looks for the tables' address first, of a hundred and fifty.
- It lists the methods of a class once.
- It asks each walk over an expression once which nodes it is for.
- It takes a value of DynamoDB into an answer as it is, where it would look for ten members of each.

Botocore does not sign calls of tables, of which moto reads only the key's id. It does not clean the same user agent
again. Calls of an emulator on this machine are signed: it looks.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

from botocore import useragent
from botocore.auth import SigV4Auth
from moto import backend_index
from moto.core import responses
from moto.core.model import Shape
from moto.core.serialize import JSONSerializer, ResponseSerializer

NODES: Final[Any] = import_module("moto.dynamodb.parsing.ast_nodes")
ADD_AUTH: Final = SigV4Auth.add_auth
SERIALIZE: Final = ResponseSerializer._serialize
WALK: Final = NODES.DepthFirstTraverser.traverse_node_recursively
_TABLES: Final = "dynamodb"
_ANSWERED: Final = "https://dynamodb."
"""Beginning of AWS's address of the tables, where moto answers."""


def install() -> None:
    """Have calls spare these costs in this process; a repeat changes nothing."""
    backend_index.backend_url_patterns.sort(key=lambda entry: entry[0] != _TABLES)
    _remember(vars(responses), "method_names_from_class")
    _remember(vars(useragent), "sanitize_user_agent_string_component")
    JSONSerializer._serialize = _serialize  # type: ignore[assignment, method-assign]
    NODES.DepthFirstTraverser.traverse_node_recursively = walk
    SigV4Auth.add_auth = _add_auth  # type: ignore[method-assign]


def _remember(module: dict[str, Any], name: str) -> None:
    """Have a module's function, whose answer depends only on its arguments, work once for the same ones."""
    if not hasattr(module[name], "cache_clear"):
        module[name] = cache(module[name])


def _add_auth(self: Any, request: Any) -> None:
    """Name the key as a signature does, in a call that moto answers."""
    if self._service_name != _TABLES or self.credentials is None or not request.url.startswith(_ANSWERED):
        ADD_AUTH(self, request)
        return
    scope = f"{self.credentials.access_key}/20260101/{self._region_name}/{_TABLES}/aws4_request"
    request.headers["Authorization"] = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=none"


def _serialize(self: JSONSerializer, serialized: dict[str, Any], value: Any, shape: Shape, key: str) -> None:
    plain = as_it_is(value) if shape.name == "AttributeValue" and key else None
    if plain is None:
        SERIALIZE(self, serialized, value, shape, key)
    else:
        serialized[self.get_serialized_name(shape, key)] = plain


def as_it_is(value: Any) -> dict[str, Any] | None:
    """Return a value of DynamoDB as JSON has it; None for what moto has to convert, such as bytes."""
    if type(value) is not dict or len(value) != 1:
        return None
    ((kind, held),) = value.items()
    if type(held) is _SCALARS.get(kind):
        return {kind: held}
    if kind in {"SS", "NS"} and type(held) is list and all(type(each) is str for each in held):
        return {kind: [*held]}
    if kind == "M" and type(held) is dict:
        members = {name: as_it_is(each) for name, each in held.items()}
        return None if None in members.values() else {kind: members}
    if kind == "L" and type(held) is list:
        elements = [as_it_is(each) for each in held]
        return None if None in elements else {kind: elements}
    return None


_SCALARS: Final[Mapping[str, type]] = {"S": str, "N": str, "BOOL": bool, "NULL": bool}


def walk(self: Any, node: Any, child_id: int = -1) -> Any:
    """Return the node of the processed tree, as moto's own walk does."""
    return _walked(self, self.nodes_to_be_processed(), node, child_id)


def _walked(walker: Any, kinds: tuple[type, ...], node: Any, child_id: int) -> Any:
    parent = node.parent
    for i, child in enumerate(node.children or ()):
        walker.pre_processing_of_child(node, i)
        if isinstance(child, NODES.Node):
            _walked(walker, kinds, child, i)
    if isinstance(node, kinds):
        node = walker.process(node)
        node.parent = parent
        if parent:
            parent.children[child_id] = node
    return node
