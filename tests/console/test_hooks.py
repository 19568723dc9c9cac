"""Webhooks in the console: endpoints and how they do, deliveries, replay; without any secret."""

import re

import pytest

from shared.domain.hooks.delivery import DeliveryState
from shared.domain.hooks.endpoint import Endpoint, HookFormat
from shared.domain.people import Role
from tests.console.console import Console
from tests.fakes.clock import FakeClock

URL = "https://shop.example.com/events"
EVIL = "<script>alert(1)</script>"


def made(console: Console, **form: str) -> str:
    """Create an endpoint by the form, and return its id."""
    got = console.post(f"/{console.account}/hooks/add", **{"url": URL, "every": "1", **form})
    assert got.status == 303, got.text
    found = re.search(r"hook_[0-9a-z]{26}", got.headers["location"])
    assert found is not None
    return found[0]


def stored(console: Console, name: str) -> Endpoint:
    return console.api.hooks.endpoint(name)


@pytest.mark.slow
def test_an_account_without_endpoints_says_what_to_do_first(console: Console) -> None:
    console.member()
    page = console.shown("/hooks")
    assert "No endpoint gets events of these keys" in page
    assert "posthaste hook listen" in page
    assert "Create an endpoint" in page


@pytest.mark.slow
def test_an_endpoint_is_created_proven_paused_enabled_and_deleted(console: Console) -> None:
    console.member()
    name = made(console, description="Shop")
    assert stored(console, name).events == ("*",)
    assert ">proving</span>" in console.shown("/hooks")
    console.api.hooks.prove(name)
    page = console.shown(f"/hooks/{name}")
    assert ">enabled</span>" in page
    assert f"posthaste hook rotate {name}" in page
    assert "whsec_" not in page
    assert "m" * 20 not in page
    asked = console.shown(f"/hooks/{name}/pause")
    assert f"Post nothing to {URL}?" in asked
    assert "<b>0</b> deliveries wait" in asked
    assert not stored(console, name).disabled_at, "a question changes nothing"
    assert console.post(f"/{console.account}/hooks/{name}/pause").status == 303
    assert stored(console, name).reason == "owner"
    assert "by hand" in console.shown("/hooks")
    assert console.post(f"/{console.account}/hooks/{name}/test").status == 409
    assert f'/hooks/{name}/enable">Enable …</a>' in console.shown(f"/hooks/{name}")
    asked = console.shown(f"/hooks/{name}/enable")
    assert f"Enable the endpoint {URL}?" in asked
    assert "<b>0</b> deliveries that wait are posted, once the endpoint answers a test event" in asked
    assert stored(console, name).disabled_at, "a question changes nothing"
    assert console.post(f"/{console.account}/hooks/{name}/enable").status == 303
    assert ">proving</span>" in console.shown(f"/hooks/{name}")
    assert "<b>1</b> deliveries that wait" in console.shown(f"/hooks/{name}/delete")
    assert console.post(f"/{console.account}/hooks/{name}/delete").status == 303
    assert console.get(f"/{console.account}/hooks/{name}").status == 404
    entries = console.api.call("GET", "/audit").json["items"]
    done = {(e["action"], e["actor"]) for e in entries if e["action"].startswith("hook.")}
    assert done == {(f"hook.{x}", "user:Ann") for x in ("deleted", "enabled", "disabled", "created")}


@pytest.mark.slow
def test_kinds_format_and_keys_are_chosen(console: Console) -> None:
    console.member()
    kinds = {"event message.failed": "1", "event job.logged": "1", "every": ""}
    name = made(console, **kinds, batch="1", keys="test", format="nonsense")
    found = stored(console, name)
    assert found.events == ("job.logged", "message.failed")
    assert (found.batch, found.format, found.namespace) == (True, HookFormat.STANDARD, f"{console.account}#TEST")
    assert name not in console.shown("/hooks")
    assert name in console.shown("/hooks?keys=test")
    assert "job.logged, message.failed" in console.shown(f"/hooks/{name}")
    chat = made(console, url="https://hooks.slack.com/services/T/B/secret", format="slack")
    page = console.shown("/hooks") + console.shown(f"/hooks/{chat}")
    assert ">hooks.slack.com<" in page
    assert "services/T" not in page, "the rest of the address is its secret"


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"url": "http://10.0.0.1/x"}, ""),
        ({"url": ""}, ""),
        ({"every": ""}, "at least one kind"),
        ({"description": "x" * 201}, "at most 200"),
    ],
)
def test_wrong_forms_create_nothing(console: Console, form: dict[str, str], says: str) -> None:
    console.member()
    got = console.post(f"/{console.account}/hooks/add", **{"url": URL, "every": "1", **form})
    assert got.status == 422
    assert "This is not possible" in got.text
    assert says in got.text
    assert console.api.call("GET", "/hooks").json["items"] == []


@pytest.mark.slow
def test_deliveries_filter_page_and_show_their_attempts(console: Console, clock: FakeClock) -> None:
    console.member()
    name = made(console)
    console.api.hooks.prove(name)
    for i in range(55):
        clock.advance(1)
        console.api.hooks.over(name, f"evt_{i}", DeliveryState.FAILED if i % 2 else DeliveryState.DELIVERED)
    page = console.shown(f"/hooks/{name}")
    links = re.findall(rf"/hooks/{name}/deliveries/([^\"#]+)\"", page)
    more = re.search(r'href="(\?[^"]+)">Next page', page)
    assert more is not None
    links += re.findall(
        rf"/hooks/{name}/deliveries/([^\"#]+)\"", console.shown(f"/hooks/{name}{more[1]}".replace("&amp;", "&"))
    )
    assert len(set(links)) == 56, "with the test event"
    failed = console.shown(f"/hooks/{name}?state=failed")
    assert ">delivered</span>" not in failed
    rest = re.search(r'href="(\?[^"]+)">Next page', failed)
    assert rest is not None, "a page with a filter may be short"
    failed += console.shown(f"/hooks/{name}{rest[1]}".replace("&amp;", "&"))
    assert len(set(re.findall(r"(evt_\d+)</small>", failed))) == 27
    assert "No such deliveries" in console.shown(f"/hooks/{name}?state=pending")
    one = console.shown(f"/hooks/{name}/deliveries/{links[1]}")
    assert "Oops" in one
    assert "12 ms" in one
    assert console.get(f"/{console.account}/hooks/{name}/deliveries/1.evt_none").status == 404
    assert console.get(f"/{console.account}/hooks/{name}/deliveries/nonsense").status == 404


@pytest.mark.slow
def test_a_delivery_is_tried_again_and_a_time_replayed_after_its_number_was_shown(
    console: Console, clock: FakeClock
) -> None:
    console.member(role=Role.ADMIN)
    name = made(console)
    console.api.hooks.prove(name)
    old = console.api.hooks.over(name, "evt_old")
    clock.advance(7_200)
    for i in range(3):
        console.api.hooks.over(name, f"evt_{i}", DeliveryState.DELIVERED if i else DeliveryState.FAILED)
    where = f"/{console.account}/hooks/{name}"
    assert console.post(f"{where}/deliveries/{old.name}/retry").status == 303
    assert [x.id for x in console.api.hooks.waiting(name)] == ["evt_old"]
    assert "Which deliveries" in console.shown(f"/hooks/{name}/replay")
    assert "<b>1</b> deliveries of the last hour" in console.shown(
        f"/hooks/{name}/replay?span=the+last+hour&state=failed"
    )
    asked = console.shown(f"/hooks/{name}/replay?span=the+last+hour&state=")
    assert "<b>3</b> deliveries of the last hour" in asked
    since = re.search(r'name="since" value="(\d+)"', asked)
    assert since is not None
    assert console.post(f"{where}/replay", since=since[1], state="").status == 303
    assert "under way" in console.shown(f"/hooks/{name}")
    assert console.post(f"{where}/replay", since=since[1]).status == 409
    assert console.post(f"{where}/replay", since="soon").status == 422


@pytest.mark.slow
def test_what_a_role_may_not_it_is_not_shown_and_refused(console: Console) -> None:
    console.member()
    name = made(console)
    console.member(role=Role.VIEWER)
    page = console.shown(f"/hooks/{name}") + console.shown("/hooks")
    for word in ("Pause …", "Replay …", "Delete …", "Post a test event", "Create an endpoint", "hook rotate"):
        assert word not in page
    for action in ("pause", "enable", "delete", "test", "replay"):
        assert console.post(f"/{console.account}/hooks/{name}/{action}", since="1").status == 403
    assert stored(console, name).disabled_at == 0


@pytest.mark.slow
def test_an_endpoint_of_another_account_is_not_there(console: Console) -> None:
    console.member()
    name = made(console)
    other = console.services.accounts.create_account("Other", [])
    console.services.people.invite("github", "ann", other, Role.ADMIN)
    console.sign_in()
    for path in ("", "/pause", "/delete", "/replay"):
        assert console.get(f"/{other}/hooks/{name}{path}").status == 404
    for action in ("pause", "enable", "delete", "test"):
        assert console.post(f"/{other}/hooks/{name}/{action}").status == 404
    assert stored(console, name).disabled_at == 0


@pytest.mark.slow
def test_what_strangers_write_is_text(console: Console, clock: FakeClock) -> None:
    console.member()
    name = made(console, description=EVIL, url=f"{URL}?{EVIL}".replace("<", "%3C").replace(">", "%3E"))
    console.api.hooks.prove(name)
    room = console.api.hooks
    ended = room.over(name, "evt_x")
    attempts = tuple(type(a)(a.at, a.status, a.ms, EVIL, "") for a in ended.attempts)
    room.queue.settle(
        [
            (
                ended,
                type(ended)(**{**{f: getattr(ended, f) for f in ended.__slots__}, "attempts": attempts, "data": EVIL}),
            )
        ]
    )
    for path in ("", f"/{name}", f"/{name}/pause", f"/{name}/deliveries/{ended.name}"):
        page = console.shown(f"/hooks{path}")
        assert "<script>alert" not in page
    assert "&lt;script&gt;" in console.shown(f"/hooks/{name}/deliveries/{ended.name}")
    assert "&lt;script&gt;" in console.shown("/hooks")
