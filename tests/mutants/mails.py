"""Sabotages of finished messages: their bytes, and their way from the commit to the end of each destination."""

from typing import Final

from tests.mutants.mutant import Mutant

_SMTP: Final = "tests/providers/test_smtp_finished.py"
_COMMAND: Final = "tests/cli/test_mails.py"
_NAMES: Final = "tests/attacks/test_a_name_that_is_another_s_address.py"
_MESSAGE: Final = "tests/domain/mails/test_message.py"
_STORE: Final = "shared/adapters/dynamo/mails/mails.py"
_SERVICE: Final = "shared/engine/mails/service.py"
_TEST_STANDING: Final = "tests/engine/mails/test_standing.py"
_REPORTS: Final = "shared/engine/mails/reports.py"
_RETRY: Final = "shared/domain/mails/retry.py"
_TEST_STORE: Final = "tests/contracts/test_mails.py"
_TEST_SERVICE: Final = "tests/engine/mails/test_mail_service.py"
_TEST_ENDS: Final = "tests/engine/mails/test_ends.py"

_BYTES: Final = (
    Mutant(
        "a value of a list is a script in a link",
        9,
        "shared/domain/content/templates.py",
        'if refused.match(_NOT_READ.sub("",',
        'if refused.fullmatch(_NOT_READ.sub("",',
        "tests/attacks/test_a_value_that_is_a_script.py::test_a_script_is_left_out_of_a_link"
        '[livescript:x-<form action="{{ url }}">]',
    ),
    Mutant(
        "a notification leaves out the status of the answer",
        3,
        "shared/domain/mails/diagnosis.py",
        "status = found[1] if found else _nearest(code, words)",
        'status = ""',
        "tests/domain/mails/test_report.py::test_it_has_the_words_of_the_server",
    ),
    Mutant(
        "words of a server add a field to a notification",
        9,
        "shared/domain/mails/report.py",
        'plain = "".join(c if c.isprintable() else " " for c in text)',
        "plain = text",
        "tests/domain/mails/test_report.py::test_words_of_a_server_are_words_only[control characters]",
    ),
    Mutant(
        "the words of a refusal are not kept",
        3,
        "shared/engine/lane/lease.py",
        "refusal.code, refusal.detail",
        'refusal.code, ""',
        "tests/engine/mails/test_ends.py::test_a_notification_has_the_words_of_the_server",
    ),
    Mutant(
        "an encoded name makes an address doubtful",
        10,
        "shared/domain/mails/header.py",
        '_WORD.sub(set_aside, field.value.replace(_ASIDE, "?"))',
        "field.value",
        f"{_MESSAGE}::test_a_name_that_is_badly_encoded_is_no_doubt_about_its_address"
        "[=?utf-8?q?a?==?utf-8?q?b?= <n@b.example>-ab]",
    ),
    Mutant(
        "a mail's Sender names another domain",
        9,
        "shared/domain/mails/message.py",
        "if field.name in AGENTS and",
        "if not AGENTS and",
        f"{_NAMES}::test_a_field_that_names_another_sender_is_refused[Sender]",
    ),
    Mutant(
        "a sender's name is another's address",
        9,
        "shared/engine/intake/addresses.py",
        "            return ANOTHERS\n",
        "            continue\n",
        f"{_NAMES}::test_a_name_that_misleads_is_refused_at_each_door[ceo@bank.example via Acme-template]",
    ),
    Mutant(
        "an encoded word hides another's address before the @",
        9,
        "shared/domain/recipients/local_parts.py",
        "    return _ENCODED.search(content) is not None\n",
        "    return not content\n",
        f"{_NAMES}::test_a_local_part_in_which_programs_read_another_address_is_refused"
        "[a.=?utf-8?q?ceo=40bank.example=3E?=@example.com]",
    ),
    Mutant(
        "a name may be another's address in quotes",
        9,
        "shared/domain/recipients/names.py",
        '|[<>()\\[\\],;:\\"])@',
        ")@",
        f"{_NAMES}::test_a_name_that_misleads_is_refused_at_each_door[[ceo]@bank.example-template]",
    ),
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
        '{"etag": etag} if etag else {}, again=True',
        "{}, again=True",
        f"{_COMMAND}::test_a_large_mail_is_uploaded_and_committed",
    ),
)

_COMMITTED: Final = (
    Mutant(
        "a mail that is committed gets a second job",
        1,
        "shared/adapters/dynamo/versioned.py",
        'condition = {"ConditionExpression": "version = :version"',
        'condition = {"ConditionExpression": "version >= :version"',
        f"{_TEST_STORE}::test_a_mail_that_is_committed_gets_no_second_job[dynamo]",
    ),
    Mutant(
        "a mail is written before its job, not with it",
        1,
        _STORE,
        'actions = [put, {"Put": self._items.put(old, new)}, *stats]',
        """self.change(old or new, new)
        actions = [put, *stats]""",
        f"{_TEST_STORE}::test_a_mail_that_is_committed_gets_no_second_job[dynamo]",
    ),
    Mutant(
        "a mail is stored without its idempotency record",
        7,
        _STORE,
        "actions, key, owner=job.id",
        "actions, None, owner=job.id",
        f"{_TEST_STORE}::test_a_mail_that_is_new_is_made_with_its_job[dynamo]",
    ),
    Mutant(
        "a second commit sends a mail again",
        7,
        _SERVICE,
        "if mail.state is not MailState.OPEN:",
        "if mail.state is MailState.CLEANED:",
        f"{_TEST_SERVICE}::test_a_second_commit_answers_as_the_first",
    ),
    Mutant(
        "a commit takes another content than the client names",
        10,
        _SERVICE,
        "if etag and etag.strip('\"') != facts.etag:",
        "if etag and not facts.etag:",
        f"{_TEST_SERVICE}::test_a_commit_needs_the_content_that_was_meant",
    ),
    Mutant(
        "a content that changes after its check is sent",
        10,
        "shared/adapters/s3/mails.py",
        """CopySourceIfMatch=f'"{etag}"',""",
        'CopySourceIfMatch="*",',
        "tests/adapters/test_mail_files.py::test_a_file_that_has_changed_is_not_copied[PreconditionFailed]",
    ),
    Mutant(
        "the envelope names any sender",
        10,
        _SERVICE,
        'check_sender(self._senders, namespace(asked.account, test=asked.test), sender, "mail_from")',
        "self._senders.check_sender(asked.account, sender.key)",
        f"{_TEST_SERVICE}::test_senders_are_checked_in_envelope_and_header",
    ),
    Mutant(
        "only the first address in From is on the account's list",
        10,
        _SERVICE,
        "self._check_claims(mail.namespace, found.claims)",
        "self._check_claims(mail.namespace, found.claims[:1])",
        f"{_TEST_SERVICE}::test_senders_are_checked_in_envelope_and_header",
    ),
    Mutant(
        "a large mail is routed to a credential for small ones",
        10,
        _SERVICE,
        "if self._rules.takes(c) >= size)",
        "if self._rules.takes(c) >= 0 * size)",
        f"{_TEST_SERVICE}::test_a_mail_goes_only_by_credentials_that_take_it",
    ),
)

_LATE: Final = (
    Mutant(
        "a mail is noted as cleaned before its content is removed",
        3,
        "shared/engine/mails/ends.py",
        "        self.files.remove(mail.content)\n        return self.mails.change(mail, new)",
        "        done = self.mails.change(mail, new)\n        self.files.remove(mail.content)\n        return done",
        "tests/engine/mails/test_mail_crash.py::test_a_crash_in_the_walk_of_finished_mails_is_made_good[after]",
    ),
    Mutant(
        "a content is removed before the ends are noted",
        3,
        "shared/engine/mails/ends.py",
        "        if not told:\n",
        "        if all(map(has_end, some)):\n            self._clean(job.name)\n        if not told:\n",
        "tests/engine/mails/test_mail_crash.py::test_a_crash_in_the_walk_of_finished_mails_is_made_good[after]",
    ),
    Mutant(
        "a content that is kept for days is no alarm",
        3,
        "shared/engine/mails/ends.py",
        "        ends.append(max((x.released_at for x in every), default=0))",
        "        pass",
        f"{_TEST_ENDS}::test_operators_hear_of_a_content_that_is_kept_for_hours[4]",
    ),
    Mutant(
        "a lost end waits for the last destination",
        3,
        "shared/engine/mails/ends.py",
        "        if not told:\n            self.tell(job.id, some)\n",
        "",
        f"{_TEST_ENDS}::test_a_lost_end_is_found_while_another_destination_is_in_doubt",
    ),
)

_TRIED: Final = (
    Mutant(
        "mails are tried again every five minutes",
        3,
        _RETRY,
        "return DELAYS_MS[min(n, len(DELAYS_MS)) - 1] if n > 0 else 0",
        "return DELAYS_MS[0] if n > 0 else 0",
        "tests/engine/mails/test_deliver.py::test_a_mail_is_tried_for_two_days",
    ),
    Mutant(
        "a mail is tried after it has expired",
        3,
        "shared/engine/mails/queueing.py",
        "x.metadata, mail.expires_at)",
        "x.metadata, 0)",
        "tests/engine/mails/test_deliver.py::test_nothing_is_tried_after_its_mail_has_expired",
    ),
    Mutant(
        "a domain that takes mails again is held",
        3,
        _RETRY,
        "all(map(failed_for_now, latest))",
        "any(map(failed_for_now, latest))",
        "tests/domain/mails/test_retry.py::test_an_accepted_mail_begins_a_new_row",
    ),
    Mutant(
        "a domain that refuses for now gets a call for each destination",
        2,
        _RETRY,
        "waits(x) and x.not_before < until]",
        "waits(x) and x.not_before > until]",
        "tests/engine/mails/test_holds.py::test_three_refusals_hold_the_whole_domain",
    ),
    Mutant(
        "a destination in flight may be dropped or moved",
        1,
        "shared/domain/mails/destination.py",
        "_WAITS: Final = frozenset({Cell.QUEUED, Cell.RETRY})",
        "_WAITS: Final = frozenset({Cell.QUEUED, Cell.RETRY, Cell.CLAIMED})",
        "tests/domain/mails/test_destination.py::test_only_what_waits_may_be_moved",
    ),
    Mutant(
        "a destination that was sent to counts as dropped",
        4,
        "shared/engine/mails/moves.py",
        "if dropped is None or not dropped.having(Cell.WITHDRAWN):",
        "if dropped is None:",
        f"{_TEST_SERVICE}::test_destinations_are_shown_dropped_and_moved",
    ),
)

_ENDED: Final = (
    Mutant(
        "the content goes with the first destination",
        3,
        "shared/engine/mails/ends.py",
        "if not all(has_end(x) and",
        "if not any(has_end(x) and",
        f"{_TEST_ENDS}::test_a_doubt_about_one_destination_keeps_the_content_of_all",
    ),
    Mutant(
        "two notifications of a mail are made at a time",
        1,
        "shared/domain/mails/mail.py",
        "if mail.reporting or not numbers:",
        "if not numbers:",
        "tests/domain/mails/test_mail.py::test_one_notification_is_made_at_a_time",
    ),
    Mutant(
        "a notification is queued again after a crash",
        1,
        _REPORTS,
        '#{mail.id}#{mail.reports}", mail.id',
        '#{mail.id}#{name}", mail.id',
        "tests/engine/mails/test_mail_crash.py::test_a_crash_in_the_walk_of_finished_mails_is_made_good[after]",
    ),
    Mutant(
        "a notification is about another one",
        1,
        _REPORTS,
        'mail_from="",',
        "mail_from=mail.mail_from,",
        f"{_TEST_ENDS}::test_the_sender_is_notified_of_a_destination_that_failed",
    ),
    Mutant(
        "a notification names blind copies",
        9,
        "shared/domain/mails/report.py",
        'line.lower().startswith((b"bcc:", b"resent-bcc:"))',
        'line.lower().startswith(b"resent-bcc:")',
        "tests/domain/mails/test_report.py::test_it_repeats_the_header_without_blind_copies",
    ),
)

_WAITED: Final = (
    Mutant(
        "a mail that waited is sent with a key that has gone",
        9,
        "shared/engine/suppression/left_out.py",
        "if job.kind != MAIL or any(",
        "if job.kind == MAIL or any(",
        f"{_TEST_STANDING}::test_what_waited_is_not_sent_once_its_key_or_sender_has_gone[key_revoked]",
    ),
    Mutant(
        "a notification counts as of the mail's key",
        3,
        _REPORTS,
        "by=SYSTEM,",
        "by=mail.by,",
        f"{_TEST_STANDING}::test_a_notification_that_waits_is_sent_all_the_same",
    ),
    Mutant(
        "a mail is sent while DNS says nothing of its sender",
        9,
        "shared/engine/lane/checks.py",
        "lease.throttled_until = int(now * 1000) + DNS_AGAIN_MS\n                return False",
        "return True",
        f"{_TEST_STANDING}::test_while_dns_does_not_answer_it_waits",
    ),
    Mutant(
        "what a leaked key's mails wait with is dropped without an entry",
        9,
        "shared/engine/mails/dropping.py",
        "        self._each(lambda x: self._note(x[0], len(x[1]), by, data), found)\n",
        "",
        "tests/engine/mails/test_dropping.py::test_a_process_that_dies_has_dropped_nothing_that_no_entry_names",
    ),
)

MAILS: Final = (*_WAITED, *_BYTES, *_COMMITTED, *_TRIED, *_LATE, *_ENDED)
"""Named sabotages of the shipped code, each of which must turn a promise test red (`python -m tests.mutants`)."""
