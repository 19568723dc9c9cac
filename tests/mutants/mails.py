"""Sabotages of finished messages: their bytes, their blind copies, and who is named as their sender."""

from typing import Final

from tests.mutants.mutant import Mutant

_SMTP: Final = "tests/providers/test_smtp_finished.py"
_COMMAND: Final = "tests/cli/test_mails.py"
_MESSAGE: Final = "tests/domain/mails/test_message.py"

MAILS: Final = (
    Mutant(
        "a dot that begins a block is not doubled",
        3,
        "shared/adapters/smtp/transport.py",
        'at_line = part.endswith(b"\\n")',
        "at_line = False",
        "tests/adapters/test_smtp.py::test_a_stream_is_written_as_its_bytes_are[17000-4]",
    ),
    Mutant(
        "blind copies leave with the header",
        9,
        "shared/domain/mails/outgoing.py",
        "kept = without_blind(header[: -len(_END)]) + _END",
        "kept = header",
        f"{_SMTP}::test_blind_copies_stay_blind",
    ),
    Mutant(
        "a relay gets headers that instruct it",
        9,
        "shared/providers/smtp/send.py",
        "if instructs(leaving, self._allowed):",
        "if instructs(leaving, leaving.names):",
        f"{_SMTP}::test_a_header_that_instructs_servers_is_not_sent[X-SMTPAPI]",
    ),
    Mutant(
        "a finished message has two senders",
        10,
        "shared/domain/mails/message.py",
        "if len(senders) > 1:",
        "if len(senders) > 2:",
        f"{_MESSAGE}::test_a_message_that_cannot_be_sent_is_refused_with_its_line[several_from-3-1]",
    ),
    Mutant(
        "a bare line feed is taken",
        10,
        "shared/domain/mails/message.py",
        'data.count(b"\\n") != ends or ',
        "",
        f"{_MESSAGE}::test_a_message_that_cannot_be_sent_is_refused_with_its_line[bare_lf-4-1]",
    ),
    Mutant(
        "the command repeats a mail without its key",
        1,
        "cli/mails/handing.py",
        "key=key, media=MEDIA",
        "again=True, media=MEDIA",
        f"{_COMMAND}::test_a_small_mail_is_one_call_with_its_bytes",
    ),
    Mutant(
        "the command commits whatever is uploaded",
        1,
        "cli/mails/handing.py",
        "_commit(etag), again=True",
        '_commit(""), again=True',
        f"{_COMMAND}::test_a_large_mail_is_uploaded_and_committed",
    ),
)
