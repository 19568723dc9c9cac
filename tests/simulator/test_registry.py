"""A provider's file is all that a provider needs."""

from pathlib import Path

import pytest

from simulator import SimulatorProcess, vendors
from simulator.registry import providers


def test_every_file_that_names_a_provider_is_one() -> None:
    folder = Path(vendors.__file__).parent
    files = [f for f in folder.rglob("*.py") if "\nPROVIDER: Final = " in f.read_text()]
    naming = {".".join([vendors.__name__, *f.relative_to(folder).with_suffix("").parts]) for f in files}
    assert {"mailgun", "resend", "sendgrid"} <= providers().keys()
    assert {make.__module__ for make in providers().values()} == naming
    assert list(providers()) == sorted(providers())


def test_a_new_module_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "class Pigeon:\n    name = 'pigeon'\n\n\nPROVIDER = Pigeon\n"
    (tmp_path / "pigeon_for_this_test.py").write_text(source)
    monkeypatch.setattr(vendors, "__path__", [*vendors.__path__, str(tmp_path)])
    providers.cache_clear()
    try:
        assert set(providers()) > {"pigeon", "sendgrid"}
    finally:
        providers.cache_clear()


@pytest.mark.slow
def test_a_folder_keeps_every_providers_signing_key(tmp_path: Path) -> None:
    documents = []
    for _ in range(2):
        with SimulatorProcess("--key-folder", str(tmp_path)) as running:
            documents.append({name: running.document["keys"][name] for name in ("mailgun", "resend", "sendgrid")})
    assert documents[0] == documents[1]
    assert {"mailgun.pem", "resend.pem", "sendgrid.pem"} <= {f.name for f in tmp_path.iterdir()}
