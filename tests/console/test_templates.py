"""Stored templates: kept with their versions, compared, used in campaigns, and changed by admins alone."""

import re
import time

import pytest

from shared.domain.people import Role
from tests import budgets
from tests.console.campaigns import SAID, fields, saved, stored
from tests.console.console import Console


def test_an_account_without_templates_says_what_to_do_first(console: Console) -> None:
    console.member()
    assert "No template yet" in console.shown("/templates")
    assert "The garden letter" in console.shown("/templates/new?sample=1")


@pytest.mark.slow
def test_versions_are_kept_and_compared(console: Console) -> None:
    console.member()
    template = stored(console, body="<p>One</p>\n<p>Two</p>")
    saved(console, template, body="<p>One</p>\n<p>Three</p>", subject="Now {{ name }}")
    page = console.shown(f"/templates/{template}")
    assert "Version 2 of 2" in page
    assert "Version 1 of 2" in console.shown(f"/templates/{template}?version=1")
    diff = console.shown(f"/templates/{template}/compare?version=2")
    assert "<del>- &lt;p&gt;Two&lt;/p&gt;</del>" in diff
    assert "<ins>+ &lt;p&gt;Three&lt;/p&gt;</ins>" in diff
    assert "<ins>+ Now {{ name }}</ins>" in diff
    assert "They say the same" in console.shown(f"/templates/{template}/compare?version=2&with=2")
    assert console.get(f"/{console.account}/templates/{template}?version=9").status == 404
    assert "Two" in console.shown(f"/templates/{template}/preview?version=1")
    kept = {e["action"]: e["actor"] for e in console.api.call("GET", "/audit").json["items"]}
    assert kept["template.created"] == kept["template.changed"] == "user:Ann"


@pytest.mark.slow
def test_a_version_that_changes_nothing_is_not_stored(console: Console) -> None:
    console.member()
    template = stored(console)
    saved(console, template)
    assert "Version 1 of 1" in console.shown(f"/templates/{template}")


@pytest.mark.slow
def test_two_admins_do_not_undo_each_other_s_changes(console: Console) -> None:
    console.member()
    template = stored(console)
    old = fields(console.shown(f"/templates/{template}/edit"))
    saved(console, template, subject="First")
    got = console.post(f"/{console.account}/templates/{template}/edit", **{**SAID, **old, "subject": "Second"})
    assert got.status == 409
    assert console.post(f"/{console.account}/templates/{template}/delete", version="1").status == 409


@pytest.mark.slow
def test_a_campaign_begins_with_a_template(console: Console) -> None:
    console.member()
    template = stored(console, name="Letters", subject="From the store {{ name }}")
    form = console.shown(f"/campaigns/new?template={template}")
    assert "From the store {{ name }}" in form
    assert "Letters (email)" in console.shown("/campaigns/new")
    assert console.get(f"/{console.account}/campaigns/new?template={'0' * 26}").status == 404


@pytest.mark.slow
def test_a_deleted_template_is_gone_with_its_versions(console: Console) -> None:
    console.member()
    template = stored(console)
    saved(console, template, subject="Two")
    asked = console.shown(f"/templates/{template}/delete")
    assert re.search(r"<b>2</b> versions", asked)
    there = f"/{console.account}/templates/{template}"
    assert console.post(f"{there}/delete", **fields(asked)).status == 303
    assert console.get(there).status == 404


@pytest.mark.slow
def test_only_admins_change_templates_and_test_keys_have_their_own(console: Console) -> None:
    console.member()
    template = stored(console)
    body = {"name": "Test", "channel": "email", "subject": "x", "body": "y"}
    scoped = console.services.accounts.get(console.account)
    assert scoped is not None
    console.member(role=Role.SENDER)
    for action in ("edit", "delete"):
        assert console.post(f"/{console.account}/templates/{template}/{action}").status == 403
        assert console.get(f"/{console.account}/templates/{template}/{action}").status == 403
    assert console.post(f"/{console.account}/templates/new", **body).status == 403
    other = console.api.services.accounts.create_account("Other", ["example.com"])
    console.services.people.invite("github", "ann", other, Role.ADMIN)
    console.sign_in()
    for path in ("", "/edit", "/compare", "/preview", "/delete"):
        assert console.get(f"/{other}/templates/{template}{path}").status == 404


@pytest.mark.slow
def test_texts_of_few_different_lines_are_compared_in_seconds(console: Console) -> None:
    console.member()
    template = stored(console, body="\n".join(["<b>", "<i>"] * 1000 + ["Hi"]))
    saved(console, template, body="\n".join(["<b>"] * 2000 + ["Hi"]))
    begun = time.process_time()
    diff = console.shown(f"/templates/{template}/compare")
    assert budgets.kept(time.process_time() - begun, 10), "it was minutes, and a page has half of one"
    assert diff.count("<del>- &lt;i&gt;</del>") == 1000
