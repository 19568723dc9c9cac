"""Sessions and clients begin as botocore's and moto's own do."""

import copy
import json
from pathlib import Path
from typing import Any

import boto3
import pytest
import requests
from botocore import xform_name
from botocore.hooks import EVENT_ALIASES, EventAliaser, HierarchicalEmitter
from botocore.session import Session

from tests.fakes.tables import mock_aws

SERVICES = ("dynamodb", "logs", "sqs", "s3", "secretsmanager")


def test_events_keep_the_names_that_botocore_gives_them() -> None:
    ours: Any = EventAliaser(HierarchicalEmitter())
    plain: Any = EventAliaser(HierarchicalEmitter(), dict(EVENT_ALIASES))
    for name in ("before-send.elb.X", "before-call.autoscaling.Y.z", "creating-client-class.dynamodb", "x.runtime.lex"):
        assert ours._alias_event_name(name) == plain._alias_event_name(name)
        assert copy.copy(ours)._alias_event_name(name) == plain._alias_event_name(name)
    assert ours._alias_event_name("before-send.elb.X") != "before-send.elb.X"


def test_a_copied_emitter_keeps_its_handlers_to_itself() -> None:
    heard: list[str] = []

    def hears(**_kwargs: Any) -> None:
        heard.append("x")

    first = EventAliaser(HierarchicalEmitter())
    second = copy.copy(first)
    second.register("before-send.sqs", hears)
    first.emit("before-send.sqs")
    assert heard == []
    second.emit("before-send.sqs")
    assert heard == ["x"]


def test_a_handler_without_keywords_is_refused() -> None:
    def wrong(_one: object) -> None: ...

    class Wrong:
        def __call__(self, one: object) -> None: ...

    for handler in (wrong, wrong, Wrong()):
        with pytest.raises(ValueError, match="must accept keyword arguments"):
            EventAliaser(HierarchicalEmitter()).register("before-send.sqs", handler)


@pytest.mark.parametrize("service", SERVICES)
def test_clients_have_the_methods_of_their_service(service: str) -> None:
    session: Any = boto3.Session("testing", "testing", region_name="us-east-1")
    operations = Session().get_service_model(service).operation_names
    for client in (session.client(service), session.client(service)):
        assert client.meta.method_to_api_mapping == {xform_name(name): name for name in operations}
        assert all(getattr(client, xform_name(name)).__self__ is client for name in operations)


def test_a_description_is_read_once_for_all_sessions_of_the_same_folders(tmp_path: Path) -> None:
    one, other = Session(), Session()
    assert one.get_service_model("sqs").metadata is other.get_service_model("sqs").metadata
    strange = tmp_path / "strange" / "2026-01-01"
    strange.mkdir(parents=True)
    (strange / "service-2.json").write_text(json.dumps({"metadata": {}}), "utf-8")
    other.get_component("data_loader").search_paths.append(str(tmp_path))
    assert "strange" in other.get_available_services()
    assert "strange" not in one.get_available_services()


@pytest.mark.slow
def test_moto_answers_each_time_anew_and_holds_nothing_of_before() -> None:
    answers = []
    for _ in range(3):
        with mock_aws():
            client = boto3.client("sqs", region_name="us-east-1")
            assert "QueueUrls" not in client.list_queues()
            client.create_queue(QueueName="x")
            answers.append(requests.get("https://s3.amazonaws.com/", timeout=5).text)
    assert "ListAllMyBuckets" in answers[0]
    assert answers == answers[:1] * 3
