"""Log paging, statistics, the inbox, the command line."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sendgrid.helpers.eventwebhook import EventWebhook

from infra.local.processes import wait_for
from simulator import ControlError, Simulator, SimulatorProcess
from simulator.log import worst_window
from tests.simulator.conftest import CREDENTIAL, KEY, PROVIDER, Send, mail, post


def test_the_log_is_read_page_by_page(sim: Simulator, send: Send) -> None:
    for n in range(7):
        send(mail(f"a{n}@example.com", f"b{n}@example.com"))

    pages = list(sim.control.pages("log", limit=4))

    assert [line["recipient"] for line in pages] == [f"{x}{n}@example.com" for n in range(7) for x in "ab"]
    assert list(sim.control.pages("log", cursor=pages[-1]["seq"] + 1)) == []
    later = sim.control.log(since=pages[6]["at"])
    assert [line["seq"] for line in later] == [line["seq"] for line in pages[6:]]
    assert [c["accepted"] for c in sim.control.pages("calls", limit=2)] == [2] * 7


def test_a_cleared_log_is_empty_and_its_numbers_go_on(sim: Simulator, send: Send) -> None:
    send(mail("a@example.com"))
    [before] = sim.control.log()
    sim.control.clear()
    assert sim.control.log() == []
    assert sim.control.stats()["accepted"] == 0
    send(mail("b@example.com"))
    [after] = sim.control.log()
    assert after["seq"] > before["seq"]
    assert list(sim.control.pages("log", cursor=before["seq"] + 1)) == [after]


def test_statistics_count_recipients_by_arrival(sim: Simulator, send: Send) -> None:
    send(mail("a@example.com", "b@example.com", "c@example.com"))
    send(mail())
    send(mail("d@example.com"))

    stats = sim.control.stats(PROVIDER, CREDENTIAL)

    assert (stats["calls"], stats["accepted"], stats["answered"]) == (3, 4, 3)
    assert stats["statuses"] == {"202": 2, "400": 1}
    assert sum(n for _, n in stats["per_second"]) == 4
    assert stats["max_in_one_second"] == (4 if stats["last_at"] - stats["first_at"] < 1 else 3)
    assert sim.control.stats(PROVIDER, "nobody")["accepted"] == 0


@pytest.mark.parametrize(
    ("arrivals", "worst"),
    [
        ([], 0),
        ([(0.0, 5)], 5),
        ([(0.0, 1), (0.9, 1), (1.0, 1), (1.8, 1)], 3),
        ([(0.0, 1), (1.0, 1), (2.0, 1)], 1),
        ([(0.0, 3), (0.5, 3), (1.25, 3), (1.4, 1)], 7),
    ],
)
def test_the_worst_second_is_half_open(arrivals: list[tuple[float, int]], worst: int) -> None:
    assert worst_window(arrivals) == worst


def test_the_inbox_shows_mails_and_their_webhooks_and_loads_nothing_from_elsewhere(sim: Simulator, send: Send) -> None:
    body = mail("ada@example.com", content=[{"type": "text/html", "value": "<script>x</script>"}])
    body["headers"], body["personalizations"][0]["headers"] = {"X-A": "all", "X-B": "all"}, {"X-B": "Ada"}
    send(body)

    page, headers = sim.control.request("GET", "/")
    [message] = sim.control.json("GET", "/inbox.json")["messages"]

    assert b"http://" not in page
    assert b"https://" not in page
    assert b'frame.sandbox = "allow-popups allow-popups-to-escape-sandbox"' in page, "no script of a mail runs"
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "script-src 'sha256-" in headers["content-security-policy"], "the page's one script, and no other"
    assert (message["to"], message["from"], message["subject"], message["provider"], message["webhooks"]) == (
        "ada@example.com",
        "news@sender.example",
        "Hello",
        PROVIDER,
        [],
    )
    shown = sim.control.json("GET", f"/inbox/{message['seq']}.json")
    assert (shown["html"], shown["headers"]) == ("<script>x</script>", {"X-A": "all", "X-B": "Ada"})
    with pytest.raises(ControlError, match="404"):
        sim.control.json("GET", "/inbox/999999.json")


def test_the_inbox_is_searched_by_words_kind_and_reference(sim: Simulator, send: Send) -> None:
    for name in ("ada", "grace"):
        html = [{"type": "text/plain", "value": f"Dear {name}"}, {"type": "text/html", "value": "<p>Gazette</p>"}]
        send(mail(f"{name}@example.com", content=html))

    def found(query: str) -> list[str]:
        return [m["to"] for m in sim.control.json("GET", f"/inbox.json?{query}")["messages"]]

    assert found("q=ADA") == ["ada@example.com"]
    assert found("q=dear+hello") == ["grace@example.com", "ada@example.com"], "each word, anywhere, newest first"
    assert found("q=dear+nobody") == []
    assert found("kind=mail&limit=1") == ["grace@example.com"]
    assert found("kind=text") == found("kind=call") == found("ref=another") == found("provider=other") == []
    shown = sim.control.json("GET", "/inbox.json")["messages"][0]
    assert found(f"credential={shown['credential']}&provider={shown['provider']}")[0] == shown["to"]
    with pytest.raises(ControlError, match="400"):
        found("kind=fax")


def test_a_page_elsewhere_cannot_read_mails_through_a_name_that_resolves_to_loopback(sim: Simulator) -> None:
    import http.client  # noqa: PLC0415 - the one place that sends a Host of its own

    connection = http.client.HTTPConnection(sim.url.removeprefix("http://"))
    connection.request("GET", "/inbox.json", headers={"Host": "evil.example"})
    assert connection.getresponse().status == 421
    connection.close()


def test_unknown_routes_and_names_are_clear_errors(sim: Simulator) -> None:
    for method, path, status in [
        ("GET", "/_control/nothing", "404"),
        ("GET", "/_control/mailchimp/x/faults", "400"),
        ("GET", "/_control/sendgrid/v3/faults", "400"),
        ("GET", "/elsewhere", "404"),
        ("POST", "/", "404"),
        ("GET", "/_control/log?limit=0", "400"),
        ("GET", "/_control/log?order=desc", "400"),
    ]:
        with pytest.raises(ControlError, match=status):
            sim.control.request(method, path)


def test_the_overview_names_what_was_used(sim: Simulator, send: Send) -> None:
    send(mail("a@example.com"))

    overview = sim.control.json("GET", "/_control")

    assert overview["seed"] == "tests"
    assert overview["credentials"][f"{PROVIDER}/{CREDENTIAL}"]["keys"]["keys"] == ["SG.simulator"]


@pytest.mark.slow
def test_the_command_serves_until_it_is_stopped(tmp_path: Path) -> None:
    port_file, key_file = tmp_path / "port.json", tmp_path / "key.pem"
    arguments = ["--port-file", str(port_file), "--key-file", f"sendgrid={key_file}", "--api-key", "sendgrid=SG.mine"]
    documents: list[dict[str, Any]] = []
    for _ in range(2):
        with SimulatorProcess(*arguments, "--listen", "sendgrid/main", "--seed", "s") as sim:
            documents.append(json.loads(port_file.read_text()))
            base_url = sim.document["base_urls"]["sendgrid/main"]
            assert not base_url.startswith(sim.url)
            assert post(base_url, mail("a@example.com")).status == 401
            assert post(base_url, mail("a@example.com"), Authorization="Bearer SG.mine").status == 202
            assert sim.control.stats()["accepted"] == 1
            assert sim.pid == documents[-1]["pid"]
    first, second = (d["keys"]["sendgrid"]["webhook_public_key"] for d in documents)
    assert first == second
    assert EventWebhook(first).public_key is not None
    assert key_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_the_command_ends_with_status_0_on_a_signal_and_2_on_nonsense() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "simulator"]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["url"].startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    done = subprocess.run([*command, "--listen", "nobody/x"], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--listen nobody/x" in done.stderr


@pytest.mark.slow
def test_a_call_that_ends_with_the_simulator_leaves_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    with SimulatorProcess("--api-key", f"{PROVIDER}={KEY}") as sim:
        sim.control.faults(PROVIDER, CREDENTIAL, latency_ms=60_000)
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(post, sim.base_url(PROVIDER, CREDENTIAL), mail("a@example.com"), 60)
            assert wait_for(lambda: sim.control.stats()["accepted"] == 1, 10)
            os.kill(sim.pid, signal.SIGTERM)
            assert isinstance(call.exception(), ConnectionError)
    assert capfd.readouterr().err == ""
