"""An erased person is in no file of a mail that was for them alone, and the mail still comes to its end."""

from typing import Any

import pytest

from shared.domain.jobs.job import MAIL
from tests.api.conftest import SENDER, Api
from tests.api.test_erasing import PERSON, Bucket, bucket, erase

__all__ = ["bucket"]

OTHER = "eve@example.org"
MESSAGE = "From: news@example.com\r\nSubject: Dear Ann\r\n\r\nHello Ann!\r\n"


def posted(api: Api, bucket: Bucket, *to: str) -> str:
    """Post a mail, and put the files of an uploaded one into the bucket; return the mail's id."""
    body = {"mail_from": SENDER, "destinations": [{"address": x} for x in to], "content": MESSAGE}
    got = api.call("POST", "/mails", body)
    assert got.status == 202, got.text
    mail = str(got.json["mail_id"])
    for name in (f"mail-uploads/{mail}", f"mail-uploads/{mail}.json", f"contents/mails/{mail}/x"):
        bucket.put(name)
    return mail


def jobs(api: Api) -> list[dict[str, Any]]:
    return [x for x in api.stored() if x.get("kind") == {"S": MAIL}]


@pytest.mark.slow
def test_a_mail_to_an_erased_person_alone_loses_its_files_and_keeps_its_job(api: Api, bucket: Bucket) -> None:
    mail = posted(api, bucket, PERSON)
    assert erase(api, bucket, dry=True).report.erased["files of mails deleted"] == 3
    assert erase(api, bucket).report.erased["files of mails deleted"] == 3
    assert bucket.names() == set()
    (job,) = jobs(api)
    assert "subject" not in job
    assert job["name"]["S"] == mail, "the mail is ended by it"
    shown = api.call("GET", f"/mails/{mail}").json
    assert [x["address"] for x in shown["destinations"]] == ["erased"]


@pytest.mark.slow
def test_others_of_the_mail_need_its_content(api: Api, bucket: Bucket) -> None:
    mail = posted(api, bucket, PERSON, OTHER)
    left = posted(api, bucket, OTHER)
    assert erase(api, bucket).report.erased["files of mails deleted"] == 2
    assert bucket.names() == {
        f"contents/mails/{mail}/x",
        *(f"{x}{left}{y}" for x, y in (("mail-uploads/", ""), ("mail-uploads/", ".json"), ("contents/mails/", "/x"))),
    }
