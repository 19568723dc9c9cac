"""What endpoints want, and which secrets sign."""

import pytest

from shared.domain.hooks.endpoint import (
    BOTH_SECRETS_MS,
    LISTENER_MS,
    DisabledReason,
    EndpointState,
    disabled,
    enabled,
    is_endpoint,
    new_endpoint_id,
    rotated,
)
from shared.domain.hooks.signature import secret_of, signed_headers
from tests.domain.hooks.examples import HOOK, endpoint
from tests.domain.ledgers import NOW


@pytest.mark.parametrize(
    ("events", "wanted"), [(("*",), True), (("message.sent",), True), (("message.failed", "job.logged"), False)]
)
def test_an_endpoint_wants_the_kinds_that_it_names(events: tuple[str, ...], *, wanted: bool) -> None:
    assert endpoint(events=events).wants("message.sent") is wanted


def test_an_endpoint_wants_nothing_before_it_is_proven_or_while_it_is_disabled() -> None:
    one = endpoint()
    off = disabled(one, DisabledReason.GONE, NOW)
    assert not endpoint(proven=False).wants("message.sent")
    assert not off.wants("message.sent")
    assert (off.state, off.reason, off.version) == (EndpointState.DISABLED, "gone", 2)
    assert enabled(off).state is EndpointState.PROVING
    assert enabled(disabled(endpoint(url=""), DisabledReason.OWNER, NOW)).state is EndpointState.ENABLED


def test_both_secrets_sign_for_a_day_after_a_rotation() -> None:
    one = rotated(endpoint(), NOW)
    assert one.secrets(NOW + BOTH_SECRETS_MS - 1) == (2, 1)
    assert one.secrets(NOW + BOTH_SECRETS_MS) == (2,)
    assert endpoint().secrets(NOW) == (1,)


def test_a_listener_is_abandoned_when_no_command_polls_it() -> None:
    one = endpoint(url="", polled_at=NOW + 1)
    assert not one.abandoned(NOW + LISTENER_MS)
    assert one.abandoned(NOW + 1 + LISTENER_MS)
    assert not endpoint().abandoned(NOW + 10 * LISTENER_MS)


def test_an_endpoints_id_is_recognised() -> None:
    assert is_endpoint(new_endpoint_id(NOW))
    assert is_endpoint(HOOK)
    assert not is_endpoint(HOOK + "0")


def test_a_secret_depends_on_master_endpoint_and_version() -> None:
    secrets = {secret_of(m, h, v) for m in ("m" * 40, "n" * 40) for h in (HOOK, HOOK[:-1] + "x") for v in (1, 11)}
    assert len(secrets) == 8
    assert all(x.startswith("whsec_") and len(x) == 6 + 44 for x in secrets)


def test_a_signature_is_that_of_the_published_example() -> None:
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    headers = signed_headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', [secret, secret])
    one = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert headers["webhook-signature"] == f"{one} {one}"
    assert headers["webhook-timestamp"] == "1614265330"
