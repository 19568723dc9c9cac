"""`python -m tests.infra.resources`: record the resources of a deployment, after a change that is meant to add some.

CloudFormation replaces what gets another logical id or name: a table would be made anew, empty.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from infra.lint import synthesise
from infra.settings import ROOT
from tests.infra.conftest import deployment

RECORDED: Final = ROOT / "tests" / "fixtures" / "resources.json"


def named(template: dict[str, Any]) -> dict[str, list[str]]:
    """Return logical id → type and physical name, which is empty where CloudFormation chooses it."""
    found = {}
    for name, resource in sorted(template["Resources"].items()):
        short = resource["Type"].rpartition("::")[2]
        properties = resource.get("Properties", {})
        own = next((properties[k] for k in (f"{short}Name", "Name", "LogGroupName") if k in properties), "")
        found[name] = [resource["Type"], own if isinstance(own, str) else json.dumps(own, sort_keys=True)]
    return found


def main() -> int:
    """Synthesise and write; return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        file = synthesise(deployment(), Path(folder))
        found = named(json.loads(file.read_text("utf-8")))
    RECORDED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
