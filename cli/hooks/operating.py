"""The deployment's own endpoints, for its operators: straight in its tables, with the API's rules and documents."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import typer
from pydantic import BaseModel, ValidationError

from cli.deployment import OperatedDeployment
from cli.errors import CommandError, Failed, Misused, NotFound
from cli.hooks.door import Document, HookDoor
from cli.operating.opened import opened
from cli.output import surroundings
from functions.api.hooks.requests import HookChange, NewHook, NewReplay
from functions.api.hooks.views import ReplayView, delivery_view, details_view, hook_view, secret_view
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.hooks.endpoints import DynamoEndpoints
from shared.adapters.dynamo.hooks.queue import DynamoHookQueue
from shared.adapters.dynamo.hooks.works import DynamoWorks
from shared.adapters.hooks import SqsHookHints, StoredHookSecrets
from shared.adapters.secrets import Secrets
from shared.contracts import calls_queue_name
from shared.domain.hooks.delivery import DeliveryState, HookDelivery
from shared.domain.hooks.draft import HookDraft
from shared.domain.hooks.endpoint import DEPLOYMENT, Endpoint
from shared.engine.hooks.made import CreatedHook
from shared.engine.hooks.service import HookService
from shared.engine.intake.declined import Declined
from shared.ports import Clock
from shared.web.problems import CODES, of_validation

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
PAGE: Final = 100
_KINDS: Final[Mapping[str, type[CommandError]]] = {
    "not_found": NotFound,
    "validation_failed": Misused,
    "url_not_allowed": Misused,
}
"""Code of a refusal → how the command ends; Failed for others."""


class OperatedHooks:
    """Implements `HookDoor` over a service.

    Args:
        by: the operator, as the audit log names them.
    """

    def __init__(self, service: HookService, clock: Clock, by: str) -> None:
        self._service = service
        self._clock = clock
        self._by = by

    def create(self, body: Mapping[str, Any]) -> Document:
        """Create an endpoint, and return it with its secret."""
        asked = _valid(NewHook, body)
        draft = HookDraft(asked.url, tuple(asked.events), asked.description, batch=asked.batch, format=asked.format)
        return self._secret(accepted(self._service.create(DEPLOYMENT, draft, by=self._by)))

    def every(self) -> list[Document]:
        """Return the endpoints, oldest first."""
        return [_document(hook_view(x, self._now())) for x in self._service.every(DEPLOYMENT)]

    def read(self, name: str) -> Document:
        """Return an endpoint, and how it does."""
        found = self._found(name)
        return _document(details_view(found, self._service.work(found), self._now()))

    def change(self, name: str, body: Mapping[str, Any]) -> Document:
        """Change an endpoint."""
        asked = _valid(HookChange, body)
        draft = HookDraft(
            asked.url,
            None if asked.events is None else tuple(asked.events),
            asked.description,
            batch=asked.batch,
            format=asked.format,
            disabled=asked.disabled,
        )
        return _document(hook_view(accepted(self._service.change(self._found(name), draft, by=self._by)), self._now()))

    def rotate(self, name: str) -> Document:
        """Give an endpoint a second secret, and return it with that."""
        return self._secret(accepted(self._service.rotate(self._found(name), by=self._by)))

    def delete(self, name: str) -> Document:
        """Delete an endpoint."""
        self._service.delete(self._found(name), by=self._by)
        return {"deleted": True}

    def test(self, name: str) -> Document:
        """Have a `test` event posted, and return its delivery."""
        return _document(delivery_view(accepted(self._service.test(self._found(name), by=self._by))))

    def deliveries(self, name: str, state: str) -> Iterator[list[Document]]:
        """Yield pages of deliveries; `state`: only those, empty for all."""
        endpoint, wanted, after, more = self._found(name), DeliveryState(state) if state else None, "", True
        while more:
            found, after = self._service.deliveries(endpoint, wanted, after=after, limit=PAGE)
            yield [_document(delivery_view(x)) for x in found]
            more = bool(after)

    def delivery(self, name: str, delivery: str) -> Document:
        """Return a delivery with its attempts."""
        return _document(delivery_view(self._delivery(self._found(name), delivery)))

    def retry(self, name: str, delivery: str) -> Document:
        """Have a delivery tried now."""
        endpoint = self._found(name)
        return _document(
            delivery_view(accepted(self._service.retry(endpoint, self._delivery(endpoint, delivery), by=self._by)))
        )

    def replay(self, name: str, body: Mapping[str, Any]) -> Document:
        """Have deliveries of a time made again."""
        asked = _valid(NewReplay, body)
        since = int(asked.since.timestamp() * 1000)
        until = int(asked.until.timestamp() * 1000) if asked.until is not None else self._now()
        state = DeliveryState(asked.state) if asked.state is not None else None
        order = accepted(self._service.replay(self._found(name), since, until, state, by=self._by))
        return _document(ReplayView.model_validate(order))

    def _found(self, name: str) -> Endpoint:
        found = self._service.find(DEPLOYMENT, name)
        if found is None:
            raise NotFound(f"no endpoint {name} of the deployment: see `posthaste hook list --deployment`")
        return found

    def _delivery(self, endpoint: Endpoint, name: str) -> HookDelivery:
        found: HookDelivery | None = self._service.delivery(endpoint, name)
        if found is None:
            raise NotFound("no such delivery: see `posthaste hook deliveries --deployment`")
        return found

    def _secret(self, made: CreatedHook) -> Document:
        return _document(secret_view(made.endpoint, made.secret, self._now()))

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


@contextmanager
def operated(ctx: typer.Context, stage: str, *, aws: bool) -> Iterator[HookDoor]:
    """Yield the deployment's own endpoints. Errors of AWS become one line.

    Args:
        stage: the stage's name; empty for the default one.
        aws: whether AWS is meant even if a local cloud is up.
    """
    with opened(ctx, stage, aws=aws) as service:
        clock = surroundings(ctx).clock
        yield OperatedHooks(hook_service(service.found, clock), clock, service.by)


def hook_service(found: OperatedDeployment, clock: Clock) -> HookService:
    """Return the endpoints of a deployment."""
    dynamo, records = found.dynamo(clock), found.table()
    sqs = found.client("sqs")
    url = str(sqs.get_queue_url(QueueName=calls_queue_name(found.stage))["QueueUrl"])
    return HookService(
        endpoints=DynamoEndpoints(dynamo, records=records),
        queue=DynamoHookQueue(dynamo, records=records),
        works=DynamoWorks(dynamo, records=records),
        hints=SqsHookHints(sqs, f"{url.removesuffix('calls')}lane-", clock),
        secrets=StoredHookSecrets(Secrets(found.client("secretsmanager"), found.stage, clock)),
        journal=DynamoJournal(dynamo, records),
        clock=clock,
        local=found.local,
    )


def _document(view: BaseModel) -> Document:
    return view.model_dump(mode="json")


def _valid(model: type[M], body: Mapping[str, Any]) -> M:
    try:
        return model.model_validate(dict(body))
    except ValidationError as error:
        # of_validation makes each error a pair: the path of the field, and a sentence.
        faults = [x for x in of_validation(error, model).errors if isinstance(x, tuple)]
        raise Misused("; ".join(f"{field}: {text.rstrip('.')}" for field, text in faults)) from None


def accepted(found: T | Declined) -> T:
    """Return what was found; raise what was declined as an error of the command."""
    if isinstance(found, Declined):
        raise _refusal(found)
    return found


def _refusal(found: Declined) -> CommandError:
    text = "; ".join(f"{x.field}: {x.text}" for x in found.faults) or CODES[found.code][1]
    return _KINDS.get(found.code, Failed)(text.rstrip("."))
