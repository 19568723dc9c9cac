"""Codes of a notifier's updates: why records are rejected, and why notices fail."""

from enum import StrEnum
from typing import Final


class Rejection(StrEnum):
    """Why a record is rejected; the first ten are checked in this order."""

    INVALID_ACTION = "INVALID_ACTION"
    MISSING_FIRST_NAME = "MISSING_FIRST_NAME"
    MISSING_PHONE_NUMBER = "MISSING_PHONE_NUMBER"
    INVALID_PHONE_NUMBER = "INVALID_PHONE_NUMBER"
    INVALID_TEMPLATE = "INVALID_TEMPLATE"
    INVALID_DELIVERY_METHOD = "INVALID_DELIVERY_METHOD"
    INVALID_DELIVERY_DATE = "INVALID_DELIVERY_DATE"
    INVALID_DELIVERY_EXPIRES = "INVALID_DELIVERY_EXPIRES"
    INVALID_REFERENCE = "INVALID_REFERENCE"
    INVALID_TAGS = "INVALID_TAGS"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    ALREADY_DELIVERED = "ALREADY_DELIVERED"
    MESSAGE_NOT_FOUND = "MESSAGE_NOT_FOUND"
    UPDATE_CONFLICT = "UPDATE_CONFLICT"
    CANCEL_CONFLICT = "CANCEL_CONFLICT"
    INTERNAL_ERROR = "INTERNAL_ERROR"


class Failure(StrEnum):
    """Why a notice, or one of its runs, has failed."""

    TEMPORARY = "TEMP_DELIVERY_FAIL"
    PERMANENT = "PERM_DELIVERY_FAIL"
    UNKNOWN = "DELIVERY_UNKNOWN"
    EXPIRED = "MESSAGE_EXPIRED"
    TEMPLATE = "INVALID_TEMPLATE"


SAYS: Final[dict[str, str]] = {
    Rejection.INVALID_ACTION: "The action is none of MESSAGE_NEW, MESSAGE_UPDATE and MESSAGE_CANCEL.",
    Rejection.MISSING_FIRST_NAME: "The first name is missing, or longer than 200 characters.",
    Rejection.MISSING_PHONE_NUMBER: "The phone number is missing.",
    Rejection.INVALID_PHONE_NUMBER: "The phone number does not exist.",
    Rejection.INVALID_TEMPLATE: "There is no such template for text messages or calls.",
    Rejection.INVALID_DELIVERY_METHOD: "The delivery method is neither SMS nor IVR.",
    Rejection.INVALID_DELIVERY_DATE: "The delivery date is no date, or more than two years ahead.",
    Rejection.INVALID_DELIVERY_EXPIRES: "The expiry is no date, not after the delivery date, or too far ahead.",
    Rejection.INVALID_REFERENCE: "The reference is no text of one line with 1 to 128 characters that can be seen.",
    Rejection.INVALID_TAGS: "The tags are no array of up to 10 different texts of one line with 1 to 64 characters.",
    Rejection.ALREADY_EXISTS: "Another message with this id exists; send an update to change it.",
    Rejection.ALREADY_DELIVERED: "The message has been delivered.",
    Rejection.MESSAGE_NOT_FOUND: "There is no message with this id.",
    Rejection.UPDATE_CONFLICT: "The message is being delivered; the update was not carried out.",
    Rejection.CANCEL_CONFLICT: "The message is being delivered; the cancellation was not carried out.",
    Rejection.INTERNAL_ERROR: "The record could not be processed because of a fault of the service.",
    Failure.TEMPORARY: "The message could not be delivered this time; it is tried again.",
    Failure.PERMANENT: "The message cannot be delivered.",
    Failure.UNKNOWN: "It is not known whether the message was delivered.",
    Failure.EXPIRED: "The message expired before it was delivered.",
}
"""Code to its sentence in the updates."""
IN_DOUBT: Final = "The call to the provider ended without an answer, so the message may have gone out."
NOT_AGAIN: Final = f"{IN_DOUBT} It is sent again only if the provider shows that it has not."
CANCELED_IN_DOUBT: Final = "The message is cancelled, but it may have reached the person."
"""The messages of entries with `DELIVERY_UNKNOWN`: of notices that fail for now, and of cancelled ones."""
NO_RECEIPT: Final = "accepted by the provider, no receipt"
