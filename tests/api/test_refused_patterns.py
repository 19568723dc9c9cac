from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from schemathesis.core import jsonschema

from tests.api.refused_patterns import Remembering

LARGE = {"type": "string", "pattern": r"^[^\x00]{1,2000000}$"}


class Counted:
    """Schemathesis' maker of validators, which counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, schema: Any) -> Any:
        self.asked += 1
        return jsonschema.build_validator_for({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


@pytest.mark.slow
def test_a_refused_pattern_is_asked_for_once() -> None:
    compiler = Remembering(counted := Counted())
    said = []
    for schema in (LARGE, {"properties": {"html": LARGE}}, LARGE):
        with pytest.raises(ValueError, match="regex") as refusal:
            compiler(schema)
        said.append(refusal.value)
    assert len({*map(id, said)}) == 1
    assert counted.asked == 1


@pytest.mark.slow
def test_a_pattern_of_which_it_makes_no_use_is_no_reason_to_refuse() -> None:
    compiler = Remembering(counted := Counted())
    with pytest.raises(ValueError, match="regex"):
        compiler(LARGE)
    bundled = {"type": "string", jsonschema.BUNDLE_STORAGE_KEY: {"schema000001": {"properties": {"text": LARGE}}}}
    assert isinstance(compiler(bundled), Draft202012Validator)
    assert counted.asked == 2


def test_a_schema_that_is_wrong_for_another_reason_says_so_each_time() -> None:
    compiler = Remembering(counted := Counted())
    for _ in range(2):
        with pytest.raises(ValueError, match="nonsense"):
            compiler({"type": "nonsense", "minLength": 1})
    assert counted.asked == 2
