"""AWS End User Messaging: SendTextMessage and SendVoiceMessage, and the events that a topic publishes.

Sources (docs.aws.amazon.com): pinpoint/latest/apireference_smsvoicev2 (operations, errors), sms-voice/latest/userguide
(event types and format, two-way SMS). botocore's service model checks requests and makes the signature.

Numbers that begin with +1500555 are refused as those of Twilio's tests are. Others meet the behaviour of the whole
number, by the credential's `behaviours`, or of its `mix`. A phone of behaviour `third` answers at the third call.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final
from uuid import UUID

from botocore.session import get_session
from botocore.validate import ParamValidator

from simulator.model import RECEIVED, Answer, Content, Context, Message, Mode, Reply, Request
from simulator.vendors._vendor import Refused, hexadecimal, reply
from simulator.vendors.aws.signing import refused
from simulator.vendors.aws.sns import AwsVendor

SERVICE: Final = "sms-voice"
TARGET: Final = "PinpointSMSVoiceV2."
ACCOUNT: Final = "DescribeAccountAttributes"
OPERATIONS: Final = ("SendTextMessage", "SendVoiceMessage", ACCOUNT)
NUMBER: Final = "+15005550006"
REFUSED: Final[Mapping[str, tuple[str, str]]] = {
    "+15005550001": ("ValidationException", "INVALID_PARAMETER"),
    "+15005550003": ("ValidationException", "DESTINATION_COUNTRY_BLOCKED"),
    "+15005550004": ("ConflictException", "DESTINATION_PHONE_NUMBER_OPTED_OUT"),
    "+15005550009": ("ConflictException", "DESTINATION_PHONE_NUMBER_NOT_VERIFIED"),
}
REF_KEY: Final = "posthaste_ref"
WORDS: Final = {
    "deliver": ("TEXT_SENT", "TEXT_SUCCESSFUL", "TEXT_DELIVERED"),
    "bounce": ("TEXT_INVALID",),
    "blocked": ("TEXT_SENT", "TEXT_CARRIER_BLOCKED"),
    "drop": ("TEXT_PROTECT_BLOCKED",),
    "defer": ("TEXT_QUEUED", "TEXT_PENDING", "TEXT_SENT", "TEXT_DELIVERED"),
    "expire": ("TEXT_SENT", "TEXT_TTL_EXPIRED"),
    "spam": ("TEXT_SENT", "TEXT_SPAM"),
    "late": ("TEXT_SENT", "TEXT_UNKNOWN"),
    "busy": ("TEXT_SENT", "TEXT_UNREACHABLE"),
    "third": ("TEXT_SENT", "TEXT_THIRD"),
    "silent": (),
    "call:deliver": ("VOICE_INITIATED", "VOICE_RINGING", "VOICE_ANSWERED", "VOICE_COMPLETED"),
    "call:bounce": ("VOICE_INITIATED", "VOICE_FAILED"),
    "call:blocked": ("VOICE_FAILED",),
    "call:drop": ("VOICE_FAILED",),
    "call:defer": ("VOICE_INITIATED", "VOICE_RINGING", "VOICE_COMPLETED"),
    "call:expire": ("VOICE_INITIATED", "VOICE_RINGING", "VOICE_NO_ANSWER"),
    "call:spam": ("VOICE_INITIATED", "VOICE_ANSWERED", "VOICE_COMPLETED"),
    "call:late": ("VOICE_INITIATED", "VOICE_TTL_EXPIRED"),
    "call:busy": ("VOICE_INITIATED", "VOICE_BUSY"),
    "call:third": ("VOICE_INITIATED", "VOICE_THIRD"),
    "call:silent": (),
}
"""Behaviour → events. `late`: a carrier that says nothing for 72 hours."""
FINAL: Final = frozenset(words[-1] for words in WORDS.values() if words)
THIRDS: Final = {
    "TEXT_THIRD": ("TEXT_UNREACHABLE", "TEXT_DELIVERED"),
    "VOICE_THIRD": ("VOICE_NO_ANSWER", "VOICE_COMPLETED"),
}
"""Events of a phone that answers at the third call, before and then."""
THIRD: Final = 3


class Wrong(Refused):
    """A request that the service refuses: the error's name, its text, its reason, and the status."""

    def __init__(self, name: str, text: str = "", reason: str = "", status: int = 400) -> None:
        super().__init__(text, _error(status, name, text, reason))


def _error(status: int, name: str, text: str, reason: str = "") -> Reply:
    body = {"__type": f"com.amazonaws.pinpointsmsvoicev2#{name}", "Message": text}
    return _reply(status, {**body, **({"Reason": reason} if reason else {})})


def _reply(status: int, body: Mapping[str, Any]) -> Reply:
    return reply(status, body, "application/x-amz-json-1.0", spaced=True)


class AwsSms(AwsVendor):
    """The provider `aws-sms`: one AWS account, one topic."""

    name = "aws-sms"
    roots: frozenset[str] = frozenset()
    max_body = 2**16
    outcomes = WORDS
    subject = "Event"

    # The API

    def _answer(self, request: Request, context: Context) -> Answer:
        operation = _operation(request)
        _authenticate(request, context)
        asked = _parsed(operation, request)
        if operation == ACCOUNT:
            return Answer(_reply(200, {"AccountAttributes": [{"Name": "ACCOUNT_TIER", "Value": "PRODUCTION"}]}))
        _check(asked)
        message_id = hexadecimal(context.id)
        taken = _reply(200, {"MessageId": message_id})
        if asked.get("DryRun"):
            return Answer(taken)
        return Answer(taken, [_message(operation, asked, message_id, request.size, context)])

    def refusal(self, mode: Mode, status: int, retry_after: float) -> Reply:  # noqa: ARG002 - AWS does not say how long
        """Return the service's answer for an injected fault; see `Provider.refusal`."""
        if mode is Mode.THROTTLED:
            return _error(400, "ThrottlingException", "Rate exceeded")
        if mode is Mode.UNAUTHORIZED:
            return _error(400, "UnrecognizedClientException", "The security token included in the request is invalid.")
        return _error(status, "InternalServerException", "")

    # The events

    def event(self, message: Message, word: str, at: float, event_id: str) -> dict[str, Any]:
        """Return one event, and the id of its notification."""
        if word == RECEIVED:
            return {"id": event_id, "event": _received(message)}
        before, then = THIRDS.get(word, (word, word))
        return {"id": event_id, "event": _event(message, then if message.args["times"] >= THIRD else before, at)}

    def wrote(self, sender: str, to: str, text: str, fresh: str) -> Message:
        """Return a text that somebody writes; see `Writing`."""
        content = Content(sender, "", text, (), len(text))
        message_id = str(UUID(hexadecimal(fresh)))
        return Message(to or NUMBER, "to", "", "SMS", message_id, 0, content, {}, {})

    def describe(self) -> dict[str, str]:
        """Return what a credential's secret has."""
        return {**super().describe(), "origination_identity": NUMBER}


# Checks, in the order in which a request is read


def _operation(request: Request) -> str:
    name = request.header(b"x-amz-target").removeprefix(TARGET)
    if request.method != "POST" or request.path != "/" or name not in OPERATIONS:
        raise Wrong("UnknownOperationException")
    return name


def _authenticate(request: Request, context: Context) -> None:
    """Check signature version 4; raise `Wrong`."""
    found = refused(request, context, provider=AwsSms.name, service=SERVICE)
    if found is not None:
        raise Wrong(*found)


@cache
def _shapes() -> dict[str, Any]:
    model = get_session().get_service_model("pinpoint-sms-voice-v2")
    return {name: model.operation_model(name).input_shape for name in OPERATIONS}


def _parsed(operation: str, request: Request) -> dict[str, Any]:
    """Return the request's fields as the service model allows them; raise `Wrong`."""
    try:
        asked = json.loads(request.body)
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        raise Wrong("SerializationException")
    report = ParamValidator().validate(asked, _shapes()[operation])
    if report.has_errors():
        raise Wrong("ValidationException", report.generate_report(), "FIELD_VALIDATION_FAILED")
    return asked


def _check(asked: Mapping[str, Any]) -> None:
    to = asked["DestinationPhoneNumber"]
    if to in REFUSED:
        name, reason = REFUSED[to]
        raise Wrong(name, "Refused", reason)
    if asked.get("OriginationIdentity", "").startswith("unknown"):
        raise Wrong("ResourceNotFoundException", "OriginationIdentity does not exist")
    if asked.get("ConfigurationSetName", "").startswith("unknown"):
        raise Wrong("ResourceNotFoundException", "ConfigurationSet does not exist")
    if not asked.get("MessageBody"):
        raise Wrong("ValidationException", "MessageBody is missing", "MISSING_PARAMETER")


def _message(operation: str, asked: Mapping[str, Any], message_id: str, size: int, context: Context) -> Message:
    to, given = asked["DestinationPhoneNumber"], asked.get("Context", {})
    times = context.memory[to] = context.memory.get(to, 0) + 1
    content = Content(asked.get("OriginationIdentity", ""), "", asked["MessageBody"], (), size)
    args = {"times": times, "context": given}
    calls = operation == OPERATIONS[1]
    said = f"Call, said by {asked.get('VoiceId', 'MATTHEW')}" if calls else "SMS"
    return Message(
        to=to,
        role="to",
        ref=given.get(REF_KEY, ""),
        subject=said,
        id=message_id,
        index=0,
        content=content,
        args=args,
        values={},
        family="call:" if calls else "",
    )


def _received(message: Message) -> dict[str, Any]:
    """Return a text that somebody wrote, as a number with two-way SMS publishes it."""
    return {
        "originationNumber": message.content.sender,
        "destinationNumber": message.to,
        "messageKeyword": message.content.text.strip().upper()[:30],
        "messageBody": message.content.text,
        "inboundMessageId": message.id,
        "previousPublishedMessageId": "",
    }


def _event(message: Message, kind: str, at: float) -> dict[str, Any]:
    status = kind.partition("_")[2]
    return {
        "eventType": kind,
        "eventVersion": "1.0",
        "eventTimestamp": int(at * 1000),
        "isFinal": kind in FINAL,
        "originationPhoneNumber": message.content.sender,
        "destinationPhoneNumber": message.to,
        "messageId": message.id,
        "messageRequestTimestamp": int((message.call.at if message.call else at) * 1000),
        "messageStatus": status,
        "messageStatusDescription": status.replace("_", " ").lower(),
        "context": message.args["context"],
    }


PROVIDER: Final = AwsSms
