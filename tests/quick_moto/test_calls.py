"""What is spared changes no answer: each is compared with moto's own."""

import json
from copy import copy
from importlib import import_module
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st
from moto.core.serialize import AttributePicker, JSONSerializer
from moto.core.utils import get_service_model

import quick_moto
from quick_moto import calls

scalars = (
    st.text(max_size=9).map(lambda x: {"S": x})
    | st.integers().map(lambda x: {"N": str(x)})
    | st.booleans().map(lambda x: {"BOOL": x})
    | st.just({"NULL": True})
    | st.lists(st.text(max_size=3), min_size=1).map(lambda x: {"SS": x})
    | st.lists(st.integers().map(str), min_size=1).map(lambda x: {"NS": x})
    | st.binary(max_size=5).map(lambda x: {"B": x})
    | st.lists(st.binary(max_size=3), min_size=1).map(lambda x: {"BS": x})
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda x: {"L": x})
        | st.dictionaries(st.text(min_size=1, max_size=4), inner, max_size=3).map(lambda x: {"M": x})
    ),
    max_leaves=8,
)
MODEL = get_service_model("dynamodb")
NODES: Any = import_module("moto.dynamodb.parsing.ast_nodes")
EXPRESSIONS: Any = import_module("moto.dynamodb.parsing.expressions")


def served(items: list[dict[str, Any]]) -> Any:
    serializer = JSONSerializer(MODEL.operation_model("Query"), value_picker=AttributePicker())
    return json.loads(serializer.serialize({"Items": items, "Count": len(items)})["body"])


@given(st.lists(st.dictionaries(st.text(min_size=1, max_size=4), values, max_size=4), max_size=3))
def test_values_are_answered_as_moto_answers_them(items: list[dict[str, Any]]) -> None:
    quick_moto.install()
    quick = served(items)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JSONSerializer, "_serialize", calls.SERIALIZE)
        assert quick == served(items)


class Renaming(NODES.DepthFirstTraverser):  # type: ignore[misc]
    """Notes the nodes that it processes, and what it sees before."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def _processing_map(self) -> dict[Any, Any]:
        return {NODES.Node: self.noted}

    def pre_processing_of_child(self, parent_node: Any, child_id: int) -> None:
        self.seen.append(f"{type(parent_node).__name__} {child_id}")

    def noted(self, node: Any) -> Any:
        self.seen.append(type(node).__name__)
        return copy(node)


def shown(node: Any) -> Any:
    return [type(node).__name__, *map(shown, node.children or ())] if isinstance(node, NODES.Node) else node


@pytest.mark.parametrize(
    "expression",
    [
        "SET a = :a, #b.c[2] = if_not_exists(d, :d) + :one REMOVE e, f[1] ADD g :g DELETE h :h",
        "ADD a :a",
        "SET a = list_append(:a, b)",
    ],
)
def test_a_walk_visits_what_motos_own_visits(expression: str) -> None:
    quick_moto.install()
    walks = []
    for walk in (calls.walk, calls.WALK):
        walker, tree = Renaming(), EXPRESSIONS.UpdateExpressionParser.make(expression)
        walks.append((shown(walk(walker, tree)), walker.seen))
    assert walks[0] == walks[1]
    assert walks[0][1]


def test_a_call_of_tables_on_moto_names_its_key_and_others_are_signed() -> None:
    quick_moto.install()
    named = {}
    for url in (
        "https://dynamodb.us-east-1.amazonaws.com/",
        "https://sqs.eu-west-1.amazonaws.com/",
        "http://127.0.0.1:4566/",
    ):
        request = AWSRequest("POST", url, data=b"{}")
        service = "sqs" if "sqs" in url else "dynamodb"
        SigV4Auth(Credentials("AKIATEST", "secret"), service, "us-east-1").add_auth(request)
        named[url] = request.headers["Authorization"]
    moto, *signed = named.values()
    assert moto.startswith("AWS4-HMAC-SHA256 Credential=AKIATEST/")
    assert moto.endswith("Signature=none")
    assert [len(header.rpartition("Signature=")[2]) for header in signed] == [64, 64]
