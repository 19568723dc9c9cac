"""mypy reads each module of the CDK that this project imports."""

import tomllib

from infra.settings import ROOT
from tests.imports import imported


def test_no_module_of_the_cdk_that_is_imported_is_skipped() -> None:
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]["overrides"]
    (read,) = [{*x["module"]} for x in overrides if x.get("follow_imports") == "normal"]
    files = [*(ROOT / "infra").rglob("*.py"), *(ROOT / "tests" / "infra").rglob("*.py"), ROOT / "app.py"]
    texts = [text for file in files if "aws_cdk" in (text := file.read_text("utf-8"))]
    parts = [name.split(".") for text in texts for name in imported(text) if name.startswith("aws_cdk.")]
    used = {".".join(part[:2]) for part in parts if part[1].islower()}
    assert "aws_cdk.aws_sqs" in used
    assert used <= read
