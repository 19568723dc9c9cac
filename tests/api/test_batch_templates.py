"""Batches of a stored template: its placeholders have values of the batch, and of each recipient."""

import json
from typing import Any

import pytest

from shared.engine.intake.accept import weight
from shared.engine.lane.compose import Composition
from tests.api.conftest import SENDER, Api

ANN, BEN = "ann@example.org", "ben@example.org"
SAYS = {"subject": "Order {{ order }}", "body": "<p>Dear {{ Name }} &amp; {{ name }}</p>", "from": f"Shop <{SENDER}>"}
TO = [{"address": ANN, "params": {"name": "Ann <3"}}, {"address": BEN, "params": {"NAME": "Ben", "order": "9"}}]


def stored(api: Api, channel: str = "email", **more: Any) -> str:
    says = {**(SAYS if channel == "email" else {}), **more}
    got = api.call("POST", "/templates", {"name": "Order", "channel": channel, **says})
    assert got.status == 201, got.text
    return str(got.json["template_id"])


def post(api: Api, template: str, to: Any = TO, **more: Any) -> Any:
    given = {"template_id": template, "to": to, "params": {"order": "4711"}, **more}
    return api.call("POST", "/batches", {name: value for name, value in given.items() if value is not None})


def made(api: Api, job: str) -> list[Any]:
    """Return what the recipients of a batch get, in list order."""
    found, content = api.world.job(job), api.world.records.content(job)
    assert content is not None
    composition = Composition(found, content, api.services.links)
    chunks = (api.world.records.chunk(job, n) for n in range(found.chunks))
    return [composition.of(r).content for chunk in chunks if chunk is not None for r in chunk.recipients]


def test_each_recipient_gets_the_template_with_their_values(api: Api) -> None:
    template = stored(api)
    got = post(api, template)
    assert got.status == 202, got.text
    job = got.json["job_id"]
    first, second = made(api, job)
    assert (first.subject, first.html) == ("Order 4711", "<p>Dear Ann &lt;3 &amp; Ann &lt;3</p>")
    assert (second.subject, second.html) == ("Order 9", "<p>Dear Ben &amp; Ben</p>")
    assert (first.sender.address, first.sender.display) == (SENDER, "Shop")
    shown = api.call("GET", f"/batches/{job}").json
    assert (shown["template_id"], shown["template_version"], shown["subject"]) == (template, 1, "Order {{ order }}")
    api.world.jobs.append(job)
    api.world.settle()
    assert sorted(x.address for x in api.world.oracle.taken) == [ANN, BEN]


def test_a_batch_keeps_what_the_template_said(api: Api) -> None:
    template = stored(api)
    job = post(api, template, from_=None).json["job_id"]
    assert api.call("PUT", f"/templates/{template}", {"name": "Order", **SAYS, "subject": "Now"}).status == 200
    assert made(api, job)[0].subject == "Order 4711"
    again = post(api, template, params={}, to=[{"address": ANN, "params": {"name": "A"}}])
    assert made(api, again.json["job_id"])[0].subject == "Now"
    old = post(api, template, template_version=1)
    assert made(api, old.json["job_id"])[0].subject == "Order 4711"


def test_missing_values_are_named_by_recipient_and_nothing_is_stored(api: Api) -> None:
    template = stored(api)
    before = api.stored()
    got = post(
        api,
        template,
        to=[{"address": ANN}, {"address": BEN, "params": {"name": ""}}, {"address": "nonsense"}],
        params=None,
    )
    assert (got.status, got.code) == (422, "validation_failed")
    assert got.fields == [
        *("to.0.params.order", "to.0.params.name", "to.1.params.order", "to.2.params.order", "to.2.params.name"),
    ]
    many = post(api, template, to=[f"a{n}@example.org" for n in range(100)])
    assert (many.status, len(many.fields)) == (422, 20)
    assert api.stored() == before
    assert post(api, template, params={"order": "", "name": ""}, to=[ANN]).status == 202, "an empty value is one"


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"subject": "Hi"}, "subject"),
        ({"body": "Hi"}, "body"),
        ({"text": "Hi"}, "text"),
        ({"params": {"order": "1", "color": "red"}}, "params.color"),
        ({"to": [{"address": ANN, "params": {"name": "A", "color": "red"}}]}, "to.0.params.color"),
        ({"to": [{"address": ANN, "params": {"name": "A", "Name": "B"}}]}, "to.0.params"),
        ({"to": [{"address": ANN, "params": {"name": 7}}]}, "to.0.params.name"),
        ({"to": [*TO, {"address": ANN, "params": {"name": "Anna"}}]}, "to.2"),
        ({"to": [{"address": ANN, "params": {"name": "x" * 8193}}]}, "to.0.params.name"),
        ({"template_id": "01m3250v00n197k5j0fjpyam13"}, "template_id"),
        ({"template_version": 2}, "template_id"),
        ({"template_id": None}, "params"),
        ({"template_id": None, "params": None, "template_version": 1}, "template_version"),
        ({"channel": "sms", "route": ["texts"], "to": ["+33612345678"]}, "template_id"),
        ({"from": "Ann <ann@bank.example>"}, "from"),
    ],
)
def test_what_a_template_cannot_be_sent_with_is_refused(api: Api, more: dict[str, Any], field: str) -> None:
    template = stored(api)
    before = api.stored()
    got = post(api, template, **more)
    assert (got.status in (403, 422), got.fields) == (True, [field]), got.text
    assert api.stored() == before


def test_another_kind_of_key_has_no_such_template(api: Api) -> None:
    got = api.call(
        "POST", "/batches", {"template_id": stored(api), "to": TO, "params": {"order": "1"}}, key=api.test_key()
    )
    assert (got.status, got.fields) == (422, ["template_id"])


def test_values_for_all_recipients_together_have_a_bound(api: Api) -> None:
    template = stored(api)
    to = [{"address": f"a{n}@example.org", "params": {"name": "n"}} for n in range(1500)]
    got = post(api, template, to, params={"order": "x" * 8192})
    assert (got.status, got.fields) == (422, ["params"])
    assert post(api, template, to[:3], params={"order": "x" * 900}).status == 202


def test_a_link_to_unsubscribe_is_asked_for(api: Api) -> None:
    template = stored(api, body="<p>{{ name }} <a href='{{ unsubscribe_url }}'>no more</a></p>")
    got = post(api, template)
    assert (got.status, got.fields) == (422, ["unsubscribe"])
    job = post(api, template, unsubscribe=True).json["job_id"]
    content = made(api, job)[0]
    assert dict(content.headers)["List-Unsubscribe"].strip("<>") in content.html


def test_a_short_message_is_of_a_template_or_of_its_variant(api: Api) -> None:
    own = stored(api, "sms", body="Hi {{ name }}, {{ recipient }}")
    variant = stored(api, sms={"text": "Order {{ order }}"})
    to = [{"address": "+33612345678", "params": {"name": "Ann"}}]
    got = post(api, own, to, params=None, channel="sms", route=["texts"])
    assert got.status == 202, got.text
    assert [x.text for x in made(api, got.json["job_id"])] == ["Hi Ann, +33612345678"]
    got = post(api, variant, ["+33612345678"], channel="sms", route=["texts"])
    assert [x.text for x in made(api, got.json["job_id"])] == ["Order 4711"]


def test_a_long_value_makes_a_short_message_weigh_what_it_is_sent_as(api: Api) -> None:
    template = stored(api, "sms", body="{{ name }}")
    to = [{"address": f"+3361234567{n}", "params": {"name": "x" * n * 160}} for n in (1, 3)]
    weights: list[int] = []
    accept = api.services.acceptor.accept

    def noted(request: Any) -> Any:
        weights.append(weight(request))
        return accept(request)

    api.services.acceptor.accept = noted  # type: ignore[method-assign]
    assert post(api, template, to, params=None, channel="sms", route=["texts"]).status == 202
    assert weights == [1 + 4], "480 characters are four parts of 153"


def test_an_export_has_the_values_as_columns(api: Api) -> None:
    job = post(api, stored(api)).json["job_id"]
    api.world.jobs.append(job)
    api.world.settle()
    assert api.call("GET", f"/batches/{job}/export").status == 202
    api.lists.export()
    rows = api.lists.files.items[api.lists.exported(job)].decode("utf-8-sig").splitlines()
    assert "updated_at,list.order,list.name,sent_at" in rows[0]
    assert [row.split(",")[10:12] for row in rows[1:]] == [["4711", "Ann <3"], ["9", "Ben"]]


def test_values_and_metadata_lie_side_by_side(api: Api) -> None:
    to = [{"address": ANN, "params": {"name": "A"}, "metadata": {"case": "7"}}]
    job = post(api, stored(api), to, metadata={"shop": "1"}).json["job_id"]
    [line] = api.call("GET", f"/batches/{job}/logs").json["items"]
    assert line["metadata"] == {"shop": "1", "case": "7"}
    assert made(api, job)[0].html == "<p>Dear A &amp; A</p>"
    assert "case" not in json.dumps([x.subject for x in made(api, job)])
