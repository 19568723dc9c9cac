"""Lists on their way in: places, completions, and what is refused."""

from typing import Any

import pytest

from shared.contracts import TEST_CREDENTIAL, ingest
from shared.domain.campaigns.campaign import MAX_JOBS, Campaign, Upload, UploadState
from shared.domain.lists.uploads import ListRules
from shared.engine.lists.uploading import PLACE_SECONDS, WITHDRAWN, Refusal, Reminder, UploadTarget, as_csv
from shared.engine.walks import simple
from shared.engine.work import WorkResult
from shared.ports import Retriable
from tests.fakes.faults import Crash, When
from tests.fakes.intake import Intake
from tests.fakes.world import World

DATA = b"recipient,name\r\nann@example.com,Ann\r\n"


@pytest.fixture
def intake() -> Intake:
    return Intake()


def placed(intake: Intake, data: bytes = DATA) -> Upload:
    place = intake.uploading.start(intake.campaign())
    assert isinstance(place, UploadTarget)
    intake.files.items[place.upload.blob] = data
    return place.upload


def test_a_place_closes_nothing(intake: Intake) -> None:
    campaign = intake.campaign()
    place = intake.uploading.start(campaign, ListRules("FR", drop_duplicates=True, column="To", strict=True))
    assert isinstance(place, UploadTarget)
    upload = place.upload
    assert intake.now(upload) == upload
    assert (upload.state, upload.region, upload.drop_duplicates) == (UploadState.WAITING, "FR", True)
    assert (upload.column, upload.strict) == ("To", True)
    assert upload.blob == f"uploads/{campaign.account}/{campaign.id}/{upload.id}"
    assert upload.blob in place.url
    assert place.headers == {"Content-Type": "text/csv", "If-None-Match": "*"}
    assert place.expires_at == intake.clock.ms + PLACE_SECONDS * 1000
    assert upload.ttl == (intake.clock.ms + 60 * 86_400_000) // 1000
    assert intake.uploads.campaigns[campaign.id] == campaign
    assert isinstance(intake.uploading.start(campaign), UploadTarget), "a place that is never used bars no other"


def test_a_complete_file_is_queued_and_its_campaign_closed(intake: Intake) -> None:
    upload = placed(intake)
    campaign = intake.uploads.campaigns[upload.campaign]
    facts = intake.files.facts(upload.blob)
    assert facts is not None
    queued = intake.uploading.complete(campaign, upload.id, f'"{facts.etag}"')
    assert isinstance(queued, Upload)
    assert (queued.state, queued.etag, queued.size) == (UploadState.QUEUED, facts.etag, len(DATA))
    closed = intake.uploads.campaigns[campaign.id]
    assert (closed.uploading, closed.version) == (upload.id, campaign.version + 1)
    assert [(m.body, m.group) for m in intake.queue.waiting] == [(ingest(campaign.id, upload.id), campaign.account)]
    again = intake.uploading.complete(closed, upload.id, facts.etag)
    assert again == queued
    assert intake.uploading.complete(closed, upload.id, "other") is Refusal.ETAG_MISMATCH


def test_what_is_refused_leaves_all_as_it_was(intake: Intake) -> None:
    upload = placed(intake)
    campaign = intake.uploads.campaigns[upload.campaign]
    complete = intake.uploading.complete
    assert complete(campaign, "0" * 26) is None
    assert complete(campaign, upload.id, "0" * 32) is Refusal.ETAG_MISMATCH
    intake.files.items[upload.blob] = b""
    assert complete(campaign, upload.id) is Refusal.EMPTY_FILE
    del intake.files.items[upload.blob]
    assert complete(campaign, upload.id) is Refusal.UPLOAD_MISSING
    assert intake.uploading.put(campaign, b"") is Refusal.EMPTY_FILE
    assert intake.now(upload) == upload
    assert intake.uploads.campaigns[campaign.id] == campaign
    assert intake.queue.waiting == []


def test_a_second_list_is_refused_while_one_is_read(intake: Intake) -> None:
    first = intake.take(DATA)
    campaign = intake.uploads.campaigns[first.campaign]
    assert intake.uploading.start(campaign) is Refusal.UPLOAD_IN_PROGRESS
    assert intake.uploading.put(campaign, DATA) is Refusal.UPLOAD_IN_PROGRESS
    assert intake.serve()
    after = intake.uploads.campaigns[campaign.id]
    assert isinstance(intake.uploading.start(after), UploadTarget)


def test_of_two_lists_completed_at_once_one_is_read(intake: Intake) -> None:
    campaign = intake.campaign()
    places = [intake.uploading.start(campaign) for _ in range(2)]
    for place in places:
        assert isinstance(place, UploadTarget)
        intake.files.items[place.upload.blob] = DATA
    made = [intake.uploading.complete(campaign, p.upload.id) for p in places if isinstance(p, UploadTarget)]
    assert isinstance(made[0], Upload)
    assert made[1] is Refusal.UPLOAD_IN_PROGRESS


def test_an_edit_before_completion_is_no_obstacle_and_its_credential_counts(intake: Intake) -> None:
    upload = placed(intake)
    read = intake.uploads.campaigns[upload.campaign]
    intake.uploads.campaigns[read.id] = read.changed(intake.clock.ms, credential="two")
    queued = intake.uploading.complete(read, upload.id)
    assert isinstance(queued, Upload)
    assert queued.credential == "two"
    assert intake.uploads.campaigns[read.id].credential == "two"


def test_a_campaign_that_went_has_no_uploads(intake: Intake) -> None:
    upload = placed(intake)
    read = intake.uploads.campaigns.pop(upload.campaign)
    assert intake.uploading.complete(read, upload.id) is None


@pytest.mark.parametrize("state", ["waiting", "queued", "reading", "ready"])
def test_a_list_that_was_not_sent_is_withdrawn_for_good(intake: Intake, state: str) -> None:
    upload = placed(intake)
    if state != "waiting":
        intake.uploading.complete(intake.uploads.campaigns[upload.campaign], upload.id)
    if state == "reading":
        queued = intake.now(upload)
        assert intake.uploads.save(queued, queued.changed(state=UploadState.READING, owner="me", until=1))
    if state == "ready":
        intake.serve()
    before = intake.uploads.campaigns[upload.campaign]
    assert intake.now(upload).state.value == state
    ended = intake.uploading.withdraw(before, upload.id)
    assert isinstance(ended, Upload)
    assert (ended.state, ended.code, ended.owner) == (UploadState.FAILED, WITHDRAWN, "")
    campaign = intake.uploads.campaigns[upload.campaign]
    assert (campaign.uploading, campaign.ready, campaign.columns) == ("", "", ())
    intake.serve()
    assert intake.now(upload) == ended
    assert intake.uploads.campaigns[upload.campaign] == campaign
    assert intake.uploading.withdraw(campaign, upload.id) == ended
    assert intake.uploading.complete(campaign, upload.id) == ended
    assert list(intake.uploads.unread()) == []


def test_a_list_that_is_withdrawn_while_it_is_read_is_read_no_further(
    intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = placed(intake)
    campaign = intake.uploads.campaigns[upload.campaign]
    intake.uploading.complete(campaign, upload.id)
    taken: list[object] = []
    store = intake.uploads.store

    def withdraw(*args: Any) -> None:
        taken.append(intake.uploading.withdraw(intake.uploads.campaigns[campaign.id], upload.id))
        store(*args)

    monkeypatch.setattr(intake.uploads, "store", withdraw)
    assert intake.serve() == [WorkResult.LOST]
    assert (intake.now(upload), intake.uploads.campaigns[campaign.id].ready) == (taken[0], "")


def test_withdrawing_one_list_leaves_the_others_and_what_was_sent(intake: Intake) -> None:
    first = placed(intake)
    campaign = intake.uploads.campaigns[first.campaign]
    intake.uploading.complete(campaign, first.id)
    intake.serve()
    place = intake.uploading.start(intake.uploads.campaigns[campaign.id])
    assert isinstance(place, UploadTarget)
    second = place.upload
    current = intake.uploads.campaigns[campaign.id]
    assert isinstance(intake.uploading.withdraw(current, second.id), Upload)
    assert intake.uploads.campaigns[campaign.id].ready == first.id
    ready = intake.now(first)
    assert intake.uploads.save(ready, ready.changed(state=UploadState.SENT))
    assert intake.uploading.withdraw(intake.uploads.campaigns[campaign.id], first.id) is Refusal.ALREADY_SENT
    assert intake.uploading.withdraw(current, "0" * 26) is None


def test_lists_of_test_keys_go_through_the_built_in_credential(intake: Intake) -> None:
    assert intake.take(DATA, campaign=intake.campaign(test=True)).credential == TEST_CREDENTIAL


def test_a_list_that_was_sent_is_not_read_again(intake: Intake) -> None:
    upload = intake.take(DATA)
    intake.serve()
    campaign = intake.uploads.campaigns[upload.campaign]
    assert intake.uploading.complete(campaign, upload.id) == intake.now(upload)
    intake.uploads.items[upload.campaign, upload.id] = intake.now(upload).changed(state=UploadState.SENT)
    assert intake.uploading.complete(campaign, upload.id) is Refusal.ALREADY_SENT
    full = intake.campaign(jobs=tuple(map(str, range(MAX_JOBS))))
    assert intake.uploading.start(full) is Refusal.TOO_MANY_LISTS


def test_a_message_that_is_lost_is_sent_by_the_sweeper(intake: Intake) -> None:
    upload = placed(intake)
    intake.tap.arm_at("queue.send", When.BEFORE, Retriable)
    taken = intake.uploading.complete(intake.uploads.campaigns[upload.campaign], upload.id)
    assert isinstance(taken, Upload)
    assert intake.queue.waiting == []
    intake.sweep()
    assert [(m.body, m.group) for m in intake.queue.waiting] == [(ingest(upload.campaign, upload.id), upload.account)]
    assert [d.value for d in intake.serve()] == ["ready"]
    intake.sweep()
    assert intake.queue.waiting == []


@pytest.mark.parametrize("when", list(When))
def test_killed_at_any_call_a_completion_that_is_repeated_has_the_list_read_once(when: When) -> None:
    for nth in range(4):
        intake = Intake()
        upload = placed(intake)
        campaign = intake.uploads.campaigns[upload.campaign]
        intake.tap.arm(nth, when)
        try:
            assert isinstance(intake.uploading.complete(campaign, upload.id), Upload)
        except Crash:
            intake.clock.advance(60)
            taken = intake.uploading.complete(intake.uploads.campaigns[upload.campaign], upload.id)
            assert isinstance(taken, Upload)
        assert intake.tap.fired == 1, nth
        intake.queue.lose()
        intake.sweep()
        assert [d.value for d in intake.serve()] == ["ready"]
        after = intake.uploads.campaigns[campaign.id]
        assert (after.uploading, after.ready, after.version) == ("", upload.id, campaign.version + 2)


def test_a_campaign_that_is_edited_or_removed_while_its_list_is_completed() -> None:
    """Whichever of the two is first, the list is read for what its campaign is then, or not at all."""
    for edit in (True, False):
        intake = Intake()
        upload = placed(intake)
        read = intake.uploads.campaigns[upload.campaign]

        def meanwhile(intake: Intake = intake, read: Campaign = read, edit: bool = edit) -> None:  # noqa: FBT001
            if intake.tap.calls[-1] == "files.facts":
                intake.tap.delay = lambda: None
                changed = read.changed(intake.clock.ms, credential="two")
                campaigns = intake.uploads.campaigns
                campaigns.update({read.id: changed}) if edit else campaigns.pop(read.id)

        intake.tap.delay = meanwhile
        found = intake.uploading.complete(read, upload.id)
        if edit:
            assert isinstance(found, Upload)
            assert (found.credential, intake.uploads.campaigns[read.id].uploading) == ("two", upload.id)
        else:
            assert found is None
            assert intake.now(upload) == upload
            assert intake.queue.waiting == []


def test_rows_of_a_request_become_the_file_that_they_would_be() -> None:
    rows = [{"recipient": "ann@example.com", "name": 'Ann "A", Lee'}, {"city": "x\ny", "recipient": "b@example.com"}]
    assert as_csv(rows) == (b'recipient,name,city\r\nann@example.com,"Ann ""A"", Lee",\r\nb@example.com,,"x\ny"\r\n')


def test_the_sweeper_restarts_unread_lists() -> None:
    intake = Intake()
    world = World()
    upload = intake.take(DATA)
    intake.queue.lose()
    walk = simple("lists", 5, Reminder(intake.uploads, intake.queue, intake.clock).walk)
    sweeper = world.sweeping((), walk)
    assert sweeper.sweep(world.clock.now() + 60).complete
    assert [m.body for m in intake.queue.waiting] == [ingest(upload.campaign, upload.id)]
    intake.uploads.items[upload.campaign, upload.id] = intake.now(upload).changed(until=intake.clock.ms + 1)
    sweeper.sweep(world.clock.now() + 60)
    assert len(intake.queue.waiting) == 1, "somebody reads it"
