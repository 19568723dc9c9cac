"""When `up` deploys: only if what a deployment depends on has changed. Needs no cloud."""

from pathlib import Path

import pytest

from infra.local import deploy
from infra.local.paths import Paths

CONTEXT = ("target=local",)


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(deploy, "ROOT", tmp_path)
    for name in ("shared/domain/ids.py", "functions/api/handler.py", "infra/local/cloud.py", "app.py", "cdk.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    return tmp_path


def test_a_deployment_is_remembered(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    assert not deploy.up_to_date(paths, "mark")
    deploy.remember(paths, "mark")
    assert deploy.up_to_date(paths, "mark")
    assert not deploy.up_to_date(paths, "another")


@pytest.mark.parametrize("name", ["shared/domain/ids.py", "functions/api/handler.py", "app.py", "cdk.json"])
def test_a_changed_source_is_noticed(sources: Path, name: str) -> None:
    before = deploy.fingerprint(CONTEXT)
    assert deploy.fingerprint(CONTEXT) == before
    (sources / name).write_text("2")
    assert deploy.fingerprint(CONTEXT) != before


def test_new_moved_and_context_are_noticed(sources: Path) -> None:
    found = {deploy.fingerprint(CONTEXT), deploy.fingerprint((*CONTEXT, "simulator_url=http://127.0.0.1:1"))}
    (sources / "shared/new.py").write_text("")
    found.add(deploy.fingerprint(CONTEXT))
    (sources / "shared/new.py").rename(sources / "shared/newer.py")
    found.add(deploy.fingerprint(CONTEXT))
    assert len(found) == 4


@pytest.mark.parametrize("name", ["infra/local/cloud.py", "shared/__pycache__/ids.pyc", "README.md"])
def test_what_no_function_depends_on_deploys_nothing(sources: Path, name: str) -> None:
    before = deploy.fingerprint(CONTEXT)
    (sources / name).parent.mkdir(exist_ok=True)
    (sources / name).write_text("2")
    assert deploy.fingerprint(CONTEXT) == before
