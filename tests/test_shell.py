"""The settings of the shell reach deployed tests and no others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shell import Shell

ROOT = Path(__file__).parents[1]


def test_each_kind_of_test_has_settings_of_its_own() -> None:
    environment = {"PATH": "/bin", "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "POSTHASTE_URL": "https://example.com"}
    shell = Shell(environment)
    assert environment == {"PATH": "/bin"}
    environment["AWS_ACCESS_KEY_ID"] = "testing"
    shell.turn(deployed=True)
    assert environment == {
        "PATH": "/bin",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "POSTHASTE_URL": "https://example.com",
    }
    environment["POSTHASTE_URL"] = "https://another.example.com"
    shell.turn(deployed=False)
    shell.turn(deployed=False)
    assert environment == {"PATH": "/bin", "AWS_ACCESS_KEY_ID": "testing"}
    shell.turn(deployed=True)
    assert environment["POSTHASTE_URL"] == "https://another.example.com"


def test_no_setting_of_the_shell_is_left() -> None:
    """Those that are there, tests have set."""
    assert "POSTHASTE_URL" not in os.environ
    assert "AWS_ENDPOINT_URL" not in os.environ


@pytest.mark.slow
def test_a_test_in_memory_does_not_ask_the_cloud_of_the_shell() -> None:
    settings = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "POSTHASTE_URL": "http://127.0.0.1:9", "AWS_PROFILE": "none"}
    tests = ["tests/contracts/test_hints.py", "tests/test_shell.py::test_no_setting_of_the_shell_is_left"]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", *tests]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
