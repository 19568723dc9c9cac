"""Codes that are not of a whole answer: why a list, a row, a template, a mail, a message or a notice is refused.

Each has a row on the page of errors. `tests/docs/test_error_codes.py` compares them with the source.
"""

from collections.abc import Mapping
from typing import Final

from shared.domain.notices.codes import SAYS as NOTICES
from shared.engine.mails.service import SAYS as REFUSED_MAILS

LISTS: Final[Mapping[str, str]] = {
    "no_header": "The file is empty, or it has no row of the number `header_row`, or that row is blank.",
    "no_rows": "The file has no row below its header.",
    "invalid_encoding": "The header or a row is not UTF-8, or the file is not in the named `encoding`. The detail has "
    "the row's number in a spreadsheet. Upload it again, and name its `encoding`.",
    "invalid_header": "The header is too long, opens a quote that is not closed, or has a NUL or a stray carriage "
    "return. This is how UTF-16, old workbooks and compressed files are recognised. Save it as CSV in UTF-8.",
    "empty_column": "A column between others has no name. Name it or remove it.",
    "duplicate_column": "Two columns have the same name. Rename one.",
    "too_many_columns": "The header has more than 512 columns. Remove some.",
    "missing_recipient": "No column holds the recipients. The detail names the columns that were found, and their "
    "row. Name the column `recipient`, or pass `recipient_column`, and `header_row` if the names are in another row.",
    "ambiguous_recipient": "Two columns can be the one of the recipients. Pass `recipient_column`.",
    "invalid_row": "The upload is `strict`, and a row is invalid. The detail has its number in a spreadsheet.",
    "no_valid_rows": "No row has a valid recipient, or none of the first 10,000. `errors` of the list says why.",
    "too_much_junk": "Over two million rows, and more than the recipients, are blank, invalid or repeated.",
    "too_many_rows": "The list has more recipients or chunks than a list may have. Split it.",
    "workbook_too_large": "The workbook is over a limit. Save it as CSV in UTF-8.",
    "workbook_unreadable": "The workbook is damaged, or has a password. Save it anew, without a password.",
    "no_such_sheet": "The workbook has no sheet of this name. The detail names its sheets.",
    "file_changed": "The file was replaced while it was read. Upload it again.",
    "file_missing": "The file was removed before it was read. Upload it again.",
    "invalid_region": "The country does not exist, so numbers without a country code cannot be read.",
    "unknown_credential": "The campaign's credential no longer exists. Create a new campaign.",
    "campaign_gone": "The campaign was removed meanwhile.",
    "withdrawn": "Its owner withdrew the list.",
    "given_up": "Twelve invocations made no progress. This is a fault of Posthaste. Upload the list again.",
}
"""Why a list is `failed`."""
ROWS: Final[Mapping[str, str]] = {
    "wrong_field_count": "The row has more fields than the header, and they are not empty.",
    "row_too_large": "The row or one of its cells is over a limit.",
    "unclosed_quote": "A quote is opened and never closed, or not within 256 KB. This row ends at its line end.",
    "stray_carriage_return": "A carriage return outside quotes ends no line.",
    "nul_byte": "The row has a NUL byte.",
    "invalid_utf8": "The row is not valid UTF-8, and the upload names `utf-8` as its `encoding`. Without that the file "
    "fails.",
    "error_cell": "A cell has an error such as `#N/A`, or a formula without a stored value. The detail names its "
    "column. Correct it, and upload the list again.",
    "invalid_address": "The recipient is not an e-mail address. `Name <a@b.example>` is one.",
    "duplicate": 'An earlier row has this recipient. It is sent to again, or left out with `duplicates: "drop"`.',
    "invalid_number": "The number is not of its country's numbering plan, or has an extension. Numbers without a "
    "country code belong to the `region`.",
}
"""Why a row of a list is not sent."""
TEMPLATES: Final[Mapping[str, str]] = {
    "unclosed": "A placeholder has no end: write `{{ name }}`.",
    "unopened": "A placeholder has no beginning: write `{{ name }}`.",
    "empty_name": "A placeholder has no name.",
    "invalid_name": "A name has only the letters a to z, digits and underscores.",
    "name_too_long": "A name has more than 64 characters.",
    "no_sections": "Sections are not supported: a template has no conditions and no loops.",
    "no_comments": "Comments are not supported.",
    "no_partials": "Partials are not supported.",
    "no_unescaped": "Values are always escaped in HTML: write `{{ name }}`.",
    "control_character": "A text has a NUL, or a subject a line break.",
    "too_large": "A text has more than 1 MiB.",
    "too_many_variables": "A template has more than 200 different names.",
    "too_many_placeholders": "A template has more than 1,000 placeholders.",
    "unknown_name": "A digest's template names a value that its events do not have. `errors` names those there are.",
    "named_twice": "A digest's template names a block more than once.",
}
"""Why a template is refused: `code` of each of `errors`."""
MAILS: Final[Mapping[str, str]] = {
    **REFUSED_MAILS,
    "header_not_allowed": "A header field instructs a provider. Remove it.",
}
"""Why a mail is refused: `code` of each of `errors`."""
MESSAGES: Final[Mapping[str, str]] = {
    "invalid_address": "The recipient is not an e-mail address.",
    "invalid_number": "The recipient is not a phone number.",
    "suppressed": "The recipient is suppressed, at acceptance or since then.",
    "unsubscribed": "The recipient has unsubscribed, at acceptance or since then.",
    "stopped": "The recipient wants no more messages by this channel.",
    "key_revoked": "A mail waited for its time, and its API key was revoked meanwhile.",
    "sender_removed": "A mail waited for its time, and its sender was taken from the account meanwhile.",
    "country_not_allowed": "Operators have not allowed the account to send to numbers of this country.",
    "not_a_guest": "A team key sends only to guests of the account. Add the recipient as a guest.",
    "erased": "The person's data were erased while the message waited.",
    "attempts_exhausted": "The message was not sent, and no attempt is left.",
    "providers_exhausted": "A provider gave the message up, and every other one has tried it.",
    "worker_lost": "Of an `unknown`: the process ended in the middle of the call.",
    "subject_missing": "With this row's values the subject is empty.",
    "subject_too_long": "With this row's values the subject has more than 998 characters.",
    "empty_message": "With this row's values nothing of the message can be seen.",
    "sms_too_long": "With this row's values the text has more than 1,600 characters.",
    "speech_too_long": "With this row's values the text is too long to be said.",
    "whatsapp_too_long": "With this row's values the text is too long for WhatsApp.",
    "message_too_large": "With this row's values the message has more than 10 MB.",
    "invalid_template": "The template is not valid.",
    "control_character": "A value of the row has a control character.",
    "no_recipient": "The row has no recipient.",
    "invalid_recipient": "The recipient cannot be sent to.",
    "withdrawn": "A destination of a mail, or a notice, was taken back.",
    "expired": "A mail or a notice expired before it was sent.",
}
"""The `error` of a message; any other is the provider's code or text."""
DETAIL_CODES: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "Lists that fail": ("list_", LISTS),
    "Rows of lists": ("row_", ROWS),
    "Templates": ("template_", TEMPLATES),
    "Mails": ("mail_", MAILS),
    "Messages": ("message_", MESSAGES),
    "Notices": ("notice_", NOTICES),
}
"""Heading → the beginning of its anchors, and its codes."""
