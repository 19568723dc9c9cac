"""Makes and changes endpoints, and lists their deliveries or makes them again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from shared.domain.audit import SYSTEM, Act, audited
from shared.domain.hooks import fields
from shared.domain.hooks.addresses import check_url
from shared.domain.hooks.bodies import packed
from shared.domain.hooks.delivery import DeliveryState, HookDelivery, again
from shared.domain.hooks.draft import HookDraft
from shared.domain.hooks.endpoint import (
    LISTED_MS,
    MAX_ENDPOINTS,
    SEEN_MS,
    DisabledReason,
    Endpoint,
    EndpointState,
    disabled,
    enabled,
    is_endpoint,
    new_endpoint_id,
    rotated,
)
from shared.domain.hooks.kinds import HookKind, event_id
from shared.domain.hooks.signature import secret_of
from shared.domain.hooks.work import LOOK_MS, HookWork, ReplayOrder, in_trial
from shared.domain.times import Millis
from shared.engine.hooks.checks import check_enabled, host_of, known_kinds, log_of, needs_proof
from shared.engine.hooks.made import CreatedHook, Record, new_hook, no_record
from shared.engine.intake.declined import Decline, FieldFault, as_value, invalid
from shared.ports import (
    After,
    Clock,
    Endpoints,
    HookHints,
    HookQueue,
    HookSecrets,
    Journal,
    Limit,
    Mismatch,
    Replay,
    Retriable,
    Works,
)

TRIES: Final = 5
"""Changes that others make meanwhile."""
MINUTE_MS: Final[Millis] = 60_000
MAX_DESCRIPTION: Final = 200
"""Characters."""
FIRST_SECRET: Final = 1
"""Version of the secret that an endpoint is created with."""
ENDED: Final = frozenset({DeliveryState.DELIVERED, DeliveryState.FAILED})


class HookService:
    """Changes endpoints. Methods with `as_value` return a `Declined` where they refuse.

    Args:
        secrets: what their secrets are derived from.
        local: on the local cloud, where a receiver may be on this machine.
    """

    def __init__(
        self,
        *,
        endpoints: Endpoints,
        queue: HookQueue,
        works: Works,
        hints: HookHints,
        secrets: HookSecrets,
        journal: Journal,
        clock: Clock,
        local: bool,
    ) -> None:
        """`journal`: has what is posted again, written after it; what changes an endpoint is stored with its entry."""
        self._endpoints = endpoints
        self._queue = queue
        self._works = works
        self._hints = hints
        self._secrets = secrets
        self._journal = journal
        self._clock = clock
        self._local = local

    # Endpoints

    @as_value
    def create(self, namespace: str, draft: HookDraft, *, by: str) -> CreatedHook:
        """Create an endpoint, and post a `test` event to it; see `create_once`.

        Args:
            namespace: whose it is: of an account's live or test keys, or DEPLOYMENT.
            draft: its settings; URL and events are needed.
        """
        return new_hook(self._shown(self._created(namespace, draft, by, no_record)))

    @as_value
    def add(self, namespace: str, draft: HookDraft, *, by: str) -> Endpoint:
        """Create an endpoint for an actor that may not see secrets: `rotate` gives one. Else as `create`.

        Args:
            draft: its settings; URL and events are needed.
        """
        made = self._created(namespace, draft, by, no_record)
        if not isinstance(made, Endpoint):
            raise TypeError("a request without a key was made before")
        return made

    @as_value
    def create_once(
        self, namespace: str, draft: HookDraft, *, by: str, record: Record
    ) -> CreatedHook | Replay | Mismatch:
        """Create an endpoint, unless an earlier request with the same key did, and post a `test` event to it.

        Args:
            record: makes the record of the request's idempotency key.
        """
        return self._shown(self._created(namespace, draft, by, record))

    def repeat(self, name: str) -> str:
        """Return the first secret of an endpoint that a repeated request has created, by its id.

        The process that created it may have died before it asked for the proof: that is done now.
        """
        found = self._endpoints.get(name)
        if found is not None and found.state is EndpointState.PROVING and self._works.get(name) is None:
            self._post(found, self._proof(found))
        return secret_of(self._secrets.master(), name, FIRST_SECRET)

    @as_value
    def listen(self, namespace: str, draft: HookDraft, *, by: str) -> CreatedHook:
        """Create an endpoint whose events are fetched."""
        return new_hook(self._shown(self._made(namespace, replace(draft, url=None), by, no_record)))

    def find(self, namespace: str, name: str) -> Endpoint | None:
        """Return an endpoint of a namespace by its id; None if the namespace has none of this id."""
        found = self._endpoints.get(name) if is_endpoint(name) else None
        return found if found is not None and found.namespace == namespace else None

    def every(self, namespace: str) -> Sequence[Endpoint]:
        """Return the endpoints of a namespace, the oldest first."""
        now = self._now()
        return [x for x in self._endpoints.of(namespace) if not x.abandoned(now)]

    def work(self, endpoint: Endpoint) -> HookWork:
        """Return how an endpoint does."""
        return in_trial(self._works.get(endpoint.id) or HookWork(endpoint.id), endpoint.trial)

    def works(self, endpoints: Sequence[Endpoint]) -> list[HookWork]:
        """Return how endpoints do, in their order."""
        found = self._works.some([x.id for x in endpoints])
        return [in_trial(found.get(x.id) or HookWork(x.id), x.trial) for x in endpoints]

    @as_value
    def change(self, endpoint: Endpoint, draft: HookDraft, *, by: str) -> Endpoint:
        """Change settings. Those that the draft leaves out stay. A new URL, or being enabled, needs a new proof."""
        if endpoint.listening and draft.url is not None:
            raise invalid("url", "The events of this endpoint are fetched. Create another endpoint.")
        act = {True: Act.HOOK_DISABLED, False: Act.HOOK_ENABLED, None: Act.HOOK_CHANGED}[draft.disabled]
        changed = self._change(
            endpoint, lambda old: self._switched(self._with(old, draft), disable=draft.disabled), act, by
        )
        if needs_proof(endpoint, changed):
            self._post(changed, self._proof(changed))
        return changed

    @as_value
    def rotate(self, endpoint: Endpoint, *, by: str) -> CreatedHook:
        """Give an endpoint a new secret. The present one also signs for a day; one before that no longer does."""
        changed = self._change(endpoint, lambda old: rotated(old, self._now()), Act.HOOK_ROTATED, by)
        return CreatedHook(changed, self._secret(changed))

    def delete(self, endpoint: Endpoint, *, by: str) -> None:
        """Delete an endpoint with what waits for it."""
        event = audited(log_of(endpoint.namespace), self._now(), endpoint.id, Act.HOOK_DELETED, by)
        self._endpoints.delete(endpoint, event=event)

    # Deliveries

    @as_value
    def test(self, endpoint: Endpoint, *, by: str = SYSTEM) -> HookDelivery:
        """Post a `test` event. `by`: the actor, for the audit log."""
        check_enabled(endpoint)
        proof = self._proof(endpoint)
        self._post(endpoint, proof)
        self._note(endpoint, Act.HOOK_TESTED, by)
        return proof

    def deliveries(
        self, endpoint: Endpoint, state: DeliveryState | None, *, after: After, limit: Limit
    ) -> tuple[Sequence[HookDelivery], str]:
        """Return a page of deliveries and the next page's place, empty at the end: those that wait, then the ended.

        Args:
            state: only those; None for all.
        """
        part, _, place = after.partition(":")
        if state is DeliveryState.PENDING or (state is None and part != _ENDED):
            found, place = self._queue.pending(endpoint.id, after=place, limit=limit)
            if place or state is not None:
                return found, f"{_PENDING}:{place}" if place else ""
            if len(found) == limit:
                return found, f"{_ENDED}:"
            rest, place = self._queue.ended(endpoint.id, limit=limit - len(found))
            return [*found, *rest], f"{_ENDED}:{place}" if place else ""
        found, place = self._queue.ended(endpoint.id, state=state, after=place, limit=limit)
        return found, f"{_ENDED}:{place}" if place else ""

    def delivery(self, endpoint: Endpoint, name: str) -> HookDelivery | None:
        """Return a delivery of an endpoint by its name; None if there is none."""
        return self._queue.get(endpoint.id, name)

    @as_value
    def retry(self, endpoint: Endpoint, delivery: HookDelivery, *, by: str = SYSTEM) -> HookDelivery:
        """Have a delivery tried now, under the same id."""
        check_enabled(endpoint)
        new = again(delivery, self._now())
        if delivery.state is DeliveryState.PENDING:
            self._queue.settle([(delivery, new)])
            self._post(endpoint)
        else:
            self._post(endpoint, new)
        self._note(endpoint, Act.HOOK_RETRIED, by)
        return new

    @as_value
    def replay(
        self, endpoint: Endpoint, since: Millis, until: Millis, state: DeliveryState | None, *, by: str = SYSTEM
    ) -> ReplayOrder:
        """Have the deliveries of a time made again.

        Args:
            endpoint: whose; not a listener.
            since: of when the oldest was created, Unix milliseconds.
            until: of when the newest was.
            state: only those that ended so; None for all.
        """
        check_enabled(endpoint)
        if endpoint.listening:
            raise Decline("hook_listens")
        work = self._works.get(endpoint.id)
        if work is not None and work.replay is not None:
            raise Decline("replay_running")
        now = self._now()
        order = ReplayOrder(since=since, until=until, at=now, state=state)
        if not self._works.order(endpoint.id, order, wake=now + LOOK_MS):
            raise Decline("replay_running")
        self._post(endpoint)
        self._note(endpoint, Act.HOOK_REPLAYED, by)
        return order

    # Parts

    def _shown(self, made: Endpoint | Replay | Mismatch) -> CreatedHook | Replay | Mismatch:
        """Return a new endpoint with its secret."""
        return CreatedHook(made, self._secret(made)) if isinstance(made, Endpoint) else made

    def _created(self, namespace: str, draft: HookDraft, by: str, record: Record) -> Endpoint | Replay | Mismatch:
        if draft.url is None:
            raise invalid("url", "An endpoint needs a URL.")
        made = self._made(namespace, draft, by, record)
        if isinstance(made, Endpoint):
            self._post(made, self._proof(made))
        return made

    def _made(self, namespace: str, draft: HookDraft, by: str, record: Record) -> Endpoint | Replay | Mismatch:
        now = self._now()
        listener = draft.url is None
        bare = Endpoint(new_endpoint_id(now), namespace, "", (), now, batch=bool(draft.batch))
        bare = replace(bare, enabled_at=now + LISTED_MS if listener else 0)
        made = replace(self._with(bare, draft), proven=listener)
        if not made.events:
            raise invalid("events", "Name at least one kind of events, or `*`.")
        self._make_room(namespace, now)
        data: dict[str, str | int] = {"events": len(made.events), **host_of(made, local=self._local)}
        event = audited(log_of(namespace), now, made.id, Act.HOOK_CREATED, by, data)
        stored = self._endpoints.create(made, record(made), event=event)
        if stored is None:
            raise Decline("too_many_hooks")
        return stored if isinstance(stored, Replay | Mismatch) else made

    def _make_room(self, namespace: str, now: Millis) -> None:
        """Remove listeners that no command polls any longer; refuse one endpoint too many before anything is stored."""
        known = self._endpoints.of(namespace)
        for x in known:
            if x.abandoned(now):
                self._endpoints.delete(x, event=None)
        if sum(not x.abandoned(now) for x in known) >= MAX_ENDPOINTS:
            raise Decline("too_many_hooks")

    def _with(self, old: Endpoint, draft: HookDraft) -> Endpoint:
        if draft.description is not None and len(draft.description) > MAX_DESCRIPTION:
            raise invalid("description", f"A description has at most {MAX_DESCRIPTION} characters.")
        url = old.url if draft.url is None else self._checked(draft.url)
        batch = old.batch if draft.batch is None else draft.batch
        return replace(
            old,
            url=url,
            proven=old.proven and (url == old.url),
            trial=old.trial + (url != old.url != ""),
            events=old.events if draft.events is None else known_kinds(old.namespace, draft.events),
            description=old.description if draft.description is None else draft.description,
            batch=batch,
            batch_at=old.batch_at if batch == old.batch else self._now(),
            format=draft.format or old.format,
        )

    def _checked(self, url: str) -> str:
        if wrong := check_url(url, local=self._local):
            raise Decline("url_not_allowed", FieldFault("url", wrong))
        return url

    def _switched(self, endpoint: Endpoint, *, disable: bool | None) -> Endpoint:
        if disable is None or disable == bool(endpoint.disabled_at):
            return endpoint
        now = self._now()
        if disable:
            return disabled(endpoint, DisabledReason.OWNER, now)
        return replace(enabled(endpoint), enabled_at=max(endpoint.enabled_at, now + SEEN_MS))

    def _change(self, found: Endpoint, how: Callable[[Endpoint], Endpoint], act: Act, by: str) -> Endpoint:
        old: Endpoint | None = found
        for _ in range(TRIES):
            if old is None:
                raise Decline("not_found")
            new = how(old)
            if replace(new, version=old.version) == old:
                return old
            new = replace(new, version=old.version + 1)
            event = audited(log_of(new.namespace), self._now(), new.id, act, by, {"version": new.version})
            if self._endpoints.change(old, new, event=event):
                return new
            old = self._endpoints.get(found.id)
        raise Retriable("endpoint: busy")

    def _proof(self, endpoint: Endpoint) -> HookDelivery:
        now = self._now()
        data = packed(fields.TEST.data(endpoint.id)).decode()
        name = event_id(HookKind.TEST, endpoint.id, now)
        return HookDelivery(name, endpoint.id, HookKind.TEST.value, now, now, data=data)

    def _note(self, endpoint: Endpoint, act: Act, by: str) -> None:
        self._journal.write(audited(log_of(endpoint.namespace), self._now(), endpoint.id, act, by))

    def _post(self, endpoint: Endpoint, *deliveries: HookDelivery) -> None:
        now = self._now()
        work = in_trial(self._queue.add(endpoint.id, deliveries, wake=now + LOOK_MS), endpoint.trial)
        if not endpoint.listening and work.needs_hint(now):
            self._hints.call(endpoint.id, endpoint.namespace, apart=work.apart)

    def _secret(self, endpoint: Endpoint) -> str:
        return secret_of(self._secrets.master(), endpoint.id, endpoint.secret)

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)


_PENDING: Final = "p"
_ENDED: Final = "e"
