import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_tables_of_fields_load_no_pydantic() -> None:
    asked = "import sys, shared.domain.hooks.fields; print('pydantic' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True)
    assert said.stdout == "False\n"
