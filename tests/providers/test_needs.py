"""Providers declare what they need; nothing else names one."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from infra.settings import providers
from shared.contracts import TEST_CREDENTIAL, Credential
from shared.ports import BadEvents
from shared.providers import registry
from shared.providers.checks import look_of
from shared.providers.needs import OWN_SETTINGS, ProviderNeeds, needs_of, package_of, with_topic

ROOT = Path(__file__).resolve().parents[2]
NAMES = (*providers(), TEST_CREDENTIAL)
VENDORS = re.compile(rf"(?<![a-z])({'|'.join(sorted({*providers()} - {'smtp'}))})(?![a-z])", re.IGNORECASE)
"""`smtp` is a protocol, too: as a provider it is a text of its own."""
ALLOWED = {
    "functions/api/examples/given.py": "examples of requests in the form of a provider",
    "functions/router/caller.py": "a door's header, without the door's code in the router; tests/router compares them",
    "infra/fitting.py": "a resource that exists in this AWS service only has a length",
    "infra/limits.py": "the same",
    "infra/local/emulated/rights.py": "what AWS itself does for this service, where a request comes in",
    "infra/resources/ses.py": "resources that exist in this AWS service only",
    "shared/domain/lanes/meanings.py": "codes of providers in words, in one table for all that show them",
}


def texts(path: Path) -> Iterator[str]:
    """Yield what a module says in code: texts but docstrings, names, and what it imports."""
    tree = ast.parse(path.read_text())
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in prose:
                yield text
            case ast.ImportFrom(module=str(name)):
                yield name
            case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.alias(name=name):
                yield name
            case _:
                continue


@pytest.mark.slow
def test_no_code_outside_the_providers_names_one() -> None:
    found = {}
    for folder in ("shared", "functions", "infra", "cli"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            where = path.relative_to(ROOT).as_posix()
            if not where.startswith("shared/providers/") and where not in ALLOWED:
                named = [x for x in texts(path) if VENDORS.search(x) or x == "smtp"]
                if named and not (where.startswith("shared/bootstrap") and named == ["smtp"] * len(named)):
                    found[where] = named
    assert found == {}


def test_what_may_name_a_provider_does() -> None:
    assert [where for where in ALLOWED if not any(map(VENDORS.search, texts(ROOT / where)))] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_declared_check_has_its_function(name: str) -> None:
    for check in needs_of(name).checks:
        assert callable(look_of(name, check.name))
    if not needs_of(name).checks:
        with pytest.raises(ModuleNotFoundError):
            look_of(name, "any")


@pytest.mark.parametrize("name", NAMES)
def test_every_provider_declares_its_needs_by_fields_that_there_are(name: str) -> None:
    assert (ROOT / "shared" / "providers" / name.replace("-", "_") / "needs.py").exists()
    needs = needs_of(name)
    assert needs.settings <= set(OWN_SETTINGS)
    assert set(OWN_SETTINGS) <= set(Credential.__dataclass_fields__)
    if needs.has_feedback and not needs.built_in:
        registry.webhooks(name)
    for right in needs.rights(Credential("one", name, "email", 1, configuration_set="set")):
        assert all(action.startswith(f"{right.service}:") for action in right.actions)
        assert all(reason for resource, reason in right.resources.items() if "*" in resource)


@pytest.mark.parametrize("name", NAMES)
def test_a_provider_that_signs_for_domains_has_their_module_and_rights(name: str) -> None:
    needs = needs_of(name)
    assert (find_spec(f"{package_of(name)}.identities") is not None) == needs.identities
    rights = needs.identity_rights(Credential("one", name, "email", 1))
    assert needs.identities or not rights
    for right in rights:
        assert all(action.startswith(f"{right.service}:") for action in right.actions)
        assert all(reason for resource, reason in right.resources.items() if "*" in resource)


@pytest.mark.parametrize("name", NAMES)
def test_a_provider_declares_whether_it_takes_finished_messages(name: str) -> None:
    module = import_module(f"{package_of(name)}.send")
    found = [x for x in vars(module).values() if isinstance(x, type) and hasattr(x, "send_finished")]
    limits = {vars(x)["finished_bytes"] for x in found}
    assert limits == {needs_of(name).finished_bytes} - {0}


def test_a_name_that_no_package_has_needs_nothing() -> None:
    assert needs_of("nothing-of-this-name") == ProviderNeeds()


@pytest.mark.slow
def test_needs_are_read_without_the_adapter() -> None:
    code = (
        "import sys; from shared.providers.needs import needs_of\n"
        f"for name in {NAMES!r}: needs_of(name)\n"
        "print([m for m in sys.modules if m.startswith('shared.providers.') and not m.endswith('needs')"
        " and m.count('.') > 2 or m in ('shared.ports', 'shared.providers.registry', 'cryptography')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_what_no_topic_s_provider_knows_is_refused() -> None:
    assert "ses" in with_topic()
    for body in ("", "[]", '{"Type": "Notification", "Message": "x", "TopicArn": "a"}'):
        with pytest.raises((BadEvents, ValueError)):
            registry.from_topic(body)
