"""Logging in: where the key is kept, which login commands use, and that no key is ever shown."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from keyring.errors import KeyringError, PasswordDeleteError

from cli.environment import Destination, KeyOrigin, api_target
from cli.errors import Failed, Misused
from cli.login import store
from cli.login.store import StoredLogins
from tests.cli.fakes import API_KEY, Answer, FakeApi, Run, problem
from tests.cli.test_command import COMMAND, env_file

OTHER_KEY = "ph_test_" + "Ab1" * 14 + "Z"
EMPTY = Answer({"items": [], "next_cursor": None})
URL = "https://api.example.com"


class FakeKeyring:
    """A keyring in memory, which may be locked."""

    def __init__(self) -> None:
        self.secrets: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self._check()
        return self.secrets.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._check()
        self.secrets[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._check()
        if (service, username) not in self.secrets:
            raise PasswordDeleteError
        del self.secrets[service, username]

    def _check(self) -> None:
        if self.locked:
            raise KeyringError


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> FakeKeyring:
    fake = FakeKeyring()
    monkeypatch.setattr(store, "system_keyring", lambda: fake)
    return fake


@pytest.fixture
def file(folder: Path) -> Path:
    return folder / "config" / "posthaste" / "logins.json"


@pytest.fixture
def server() -> Iterator[FakeApi]:
    """An API that the environment does not name."""
    fake = FakeApi()
    fake.answers(EMPTY)
    yield fake
    fake.close()


def test_a_login_is_checked_and_kept_in_the_keyring_for_all_commands(
    run: Run, server: FakeApi, keyring: FakeKeyring, file: Path
) -> None:
    done = run("login", f"{server.url}/", input=f"{API_KEY}\n")
    assert done.code == 0, done.err
    assert "the key is in the system's keyring" in done.out
    assert keyring.secrets == {("posthaste", server.url): API_KEY}
    assert API_KEY not in file.read_text() + done.out + done.err
    assert run("batch", "list").code == 0
    assert [asked.headers["Authorization"] for asked in server.asked] == [f"Bearer {API_KEY}"] * 2


def test_without_a_keyring_the_key_is_in_a_file_that_only_its_user_reads(run: Run, server: FakeApi, file: Path) -> None:
    done = run("login", server.url, "--json", input=API_KEY)
    assert done.json == {
        "url": server.url,
        "key_id": done.json["key_id"],
        "mode": "live",
        "origin": "login",
        "stored_in": "file",
    }
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert run("batch", "list").code == 0
    assert server.asked[-1].headers["Authorization"] == f"Bearer {API_KEY}"


def test_the_file_can_be_chosen_and_a_later_login_moves_the_key(
    run: Run, server: FakeApi, keyring: FakeKeyring, file: Path
) -> None:
    run("login", server.url, input=API_KEY)
    run("login", server.url, "--no-keyring", input=OTHER_KEY)
    assert keyring.secrets == {}
    assert OTHER_KEY in file.read_text()
    run("login", server.url, input=API_KEY)
    assert OTHER_KEY not in file.read_text()


def test_on_a_terminal_address_and_key_are_asked_for_and_the_key_is_not_shown(run: Run, server: FakeApi) -> None:
    done = run("login", input=f"{server.url}\n{API_KEY}\n", terminal=True)
    assert done.code == 0, done.err
    assert API_KEY not in done.out + done.err


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_the_api_refuses_is_not_stored(run: Run, server: FakeApi, file: Path, status: int) -> None:
    server.answers(problem(status, "unauthorized", "Send a valid API key."))
    done = run("login", server.url, input=API_KEY)
    assert (done.code, file.exists()) == (4, False)
    assert API_KEY not in done.err


def test_a_key_that_may_only_send_is_stored_with_a_remark(run: Run, server: FakeApi, file: Path) -> None:
    server.answers(problem(403, "missing_scope", "The API key does not have the scope that this call needs."))
    done = run("login", server.url, input=API_KEY)
    assert (done.code, file.exists()) == (0, True)
    assert "scope `read`" in done.err


@pytest.mark.parametrize(
    ("words", "typed", "says"),
    [
        ((), API_KEY, "name the API's address"),
        (("http://api.example.com",), API_KEY, "unencrypted"),
        (("api.example.com",), API_KEY, "must look like https://"),
        ((URL,), "secret word", "not an API key"),
        ((URL,), "", "not an API key"),
        ((URL,), "ph_live_x", "not an API key"),
    ],
)
def test_a_login_that_cannot_work_is_refused_before_any_call(
    run: Run, file: Path, words: tuple[str, ...], typed: str, says: str
) -> None:
    done = run("login", *words, input=typed)
    assert (done.code, file.exists()) == (2, False)
    assert says in done.err
    assert typed not in done.err or not typed


def test_the_option_comes_before_the_environment_and_this_before_the_login(
    run: Run, server: FakeApi, api: FakeApi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.answers(EMPTY)
    run("login", server.url, input=OTHER_KEY)
    env_file(folder, POSTHASTE_URL="http://127.0.0.1:9", POSTHASTE_API_KEY="ph_live_local")
    assert api_target() == Destination(api.url, API_KEY)
    assert api_target(named=server.url) == Destination(server.url, OTHER_KEY)
    assert api_target(named="local") == Destination("http://127.0.0.1:9", "ph_live_local")
    assert api_target(named=api.url) == Destination(api.url, API_KEY), "the key that belongs to this address"
    for name in ("POSTHASTE_URL", "POSTHASTE_API_KEY"):
        monkeypatch.delenv(name)
    assert api_target() == Destination(server.url, OTHER_KEY)
    run("logout")
    assert api_target() == Destination("http://127.0.0.1:9", "ph_live_local")
    asked = len(api.asked)
    monkeypatch.setenv("POSTHASTE_URL", api.url)
    monkeypatch.setenv("POSTHASTE_API_KEY", API_KEY)
    assert run("--url", api.url, "batch", "list").code == 0
    assert len(api.asked) == asked + 1


def test_a_key_goes_to_no_address_but_its_own(run: Run, server: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    run("login", server.url, input=OTHER_KEY)
    with pytest.raises(Misused, match="no API key for https"):
        api_target(named=URL)
    monkeypatch.setenv("POSTHASTE_URL", URL)
    with pytest.raises(Misused, match="no API key for https"):
        api_target()
    monkeypatch.setenv("POSTHASTE_API_KEY", API_KEY)
    assert api_target(named=server.url) == Destination(server.url, OTHER_KEY)
    monkeypatch.delenv("POSTHASTE_URL")
    with pytest.raises(Misused, match="no API address"):
        api_target()
    with pytest.raises(Misused, match="unencrypted"):
        api_target(named="http://api.example.com")


def test_the_address_of_the_environment_finds_the_key_of_its_login(
    run: Run, server: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("login", server.url, input=OTHER_KEY)
    monkeypatch.setenv("POSTHASTE_URL", server.url)
    found = api_target()
    assert (found.key, found.origin) == (OTHER_KEY, KeyOrigin.LOGIN)


def test_a_login_beside_a_local_cloud_is_announced(run: Run, server: FakeApi, folder: Path) -> None:
    run("login", server.url, input=API_KEY)
    assert "--url local" not in run("batch", "list").err
    env_file(folder, POSTHASTE_URL="http://127.0.0.1:9", POSTHASTE_API_KEY="ph_live_local")
    assert f"this command is for {server.url}" in run("batch", "list").err
    assert "--url local" not in run("--url", server.url, "batch", "list").err


def test_whoami_shows_address_origin_and_the_keys_id(run: Run, server: FakeApi, api: FakeApi) -> None:
    api.answers(EMPTY)
    run("login", server.url, input=OTHER_KEY)
    shown = run("whoami")
    assert shown.out.startswith(f"{api.url} with the live key ")
    assert "from the environment" in shown.out
    assert f"other logins: {server.url}" in shown.out
    named = run("--url", server.url, "whoami", "--json")
    assert (named.json["mode"], named.json["origin"]) == ("test", "login")
    assert not {API_KEY, OTHER_KEY} & {shown.out, named.out}


def test_whoami_fails_when_the_api_refuses_the_key_and_says_what_to_do(run: Run, server: FakeApi) -> None:
    run("login", server.url, input=API_KEY)
    server.answers(problem(401, "unauthorized", "Send a valid API key."))
    done = run("whoami")
    assert done.code == 4
    assert f"posthaste login {server.url}" in done.err


def test_logging_out_forgets_one_or_all_logins(run: Run, keyring: FakeKeyring, file: Path) -> None:
    logins = StoredLogins(file)
    for url in ("https://a.example", "https://b.example", "https://c.example"):
        logins.add(url, API_KEY)
    assert (
        run("logout", "https://a.example").out
        == "logged out of https://a.example\ncommands now use https://c.example\n"
    )
    assert run("logout").out == "logged out of https://c.example\ncommands now use https://b.example\n"
    assert run("logout", "--all", "--json").json == {"logged_out": ["https://b.example"]}
    assert (keyring.secrets, json.loads(file.read_text())["logins"]) == ({}, {})
    assert run("logout").err == "there is no login\n"


def test_a_file_that_others_can_read_is_refused(file: Path) -> None:
    StoredLogins(file, lambda: None).add(URL, API_KEY)
    file.chmod(0o640)
    with pytest.raises(Misused, match="chmod 600"):
        api_target()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"current": "", "logins": {"a": 1}}', "\udcff"])
def test_a_file_that_is_no_list_of_logins_is_one_line(run: Run, file: Path, text: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode(errors="surrogateescape"))
    file.chmod(0o600)
    done = run("batch", "list")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "log in again" in done.err


def test_a_home_that_this_user_may_not_enter_has_no_logins(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    StoredLogins(file, lambda: None).add(URL, API_KEY)
    look = Path.stat

    def refused(path: Path, **how: Any) -> os.stat_result:
        if path == file:
            raise PermissionError
        return look(path, **how)

    monkeypatch.setattr(Path, "stat", refused)
    with pytest.raises(Misused, match="no API address"):
        api_target()


def test_a_home_that_cannot_be_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/" + "x" * 5000)
    done = run("batch", "list")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "XDG_CONFIG_HOME" in done.err


def test_a_login_that_cannot_be_written_leaves_its_key_nowhere(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    def full(_path: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(Failed, match="No space left"):
        StoredLogins(file, lambda: None).add(URL, API_KEY)
    assert list(file.parent.iterdir()) == []


def test_a_locked_or_emptied_keyring_is_one_line_that_says_what_to_do(
    run: Run, keyring: FakeKeyring, file: Path
) -> None:
    StoredLogins(file).add(URL, API_KEY)
    keyring.locked = True
    assert "unlock it" in run("batch", "list").err
    assert run("logout").code == 1
    keyring.locked = False
    keyring.secrets.clear()
    assert "log in again" in run("batch", "list").err
    assert run("logout").code == 0


def test_a_keyring_that_takes_no_key_leaves_it_to_the_file(keyring: FakeKeyring, file: Path) -> None:
    keyring.locked = True
    assert not StoredLogins(file).add(URL, API_KEY).in_keyring
    assert API_KEY in file.read_text()


def test_a_user_without_a_home_needs_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Misused, match="no API address"):
        api_target()
    with pytest.raises(Misused, match="no place for a login"):
        StoredLogins(None, lambda: None).add(URL, API_KEY)


@pytest.mark.slow
def test_commands_load_no_keyring_unless_a_login_needs_it() -> None:
    words = [sys.executable, "-c", "import sys, cli.main; sys.exit('keyring' in sys.modules)"]
    assert subprocess.run(words, check=False, timeout=60).returncode == 0


@pytest.mark.slow
def test_the_real_command_takes_the_key_from_stdin_and_has_no_keyring_here(server: FakeApi, file: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "login", server.url], input=API_KEY, capture_output=True, text=True, check=False,
        env={**os.environ},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert str(file) in done.stdout
