"""Sabotages of what each recipient gets, or is left out of; and of exports, the archive and schedules."""

from typing import Final

from tests.mutants.mutant import Mutant

COMPOSE: Final = "shared/engine/compose.py"
ARCHIVE: Final = "shared/engine/archive.py"
EXPORT: Final = "shared/engine/export.py"
PAGES: Final = "functions/api/routes/unsubscribe.py"
SCHEDULES: Final = "shared/engine/schedules.py"

RECIPIENTS: Final = (
    # 11: who has unsubscribed
    Mutant(
        "a look at a link unsubscribes",
        11,
        PAGES,
        "    who = quoted(wanted.address)\n",
        "    leave(visit, wanted)\n    who = quoted(wanted.address)\n",
        "tests/api/test_unsubscribe.py::test_to_look_changes_nothing",
    ),
    Mutant(
        "what is posted to a link that nobody made is acted upon",
        11,
        PAGES,
        "            if wanted is None:\n",
        "            if wanted is None and visit.request.method == 'GET':\n",
        "tests/api/test_unsubscribe.py::test_a_link_that_was_not_signed_here_does_nothing[/undo-POST]",
    ),
    Mutant(
        "one account's unsubscriptions are everybody's",
        11,
        "shared/adapters/dynamo/keys.py",
        'return key(f"A#{account_id}#{_LISTS[reach]}", digest)',
        'return key(f"A##{_LISTS[reach]}", digest)',
        "tests/api/test_unsubscribe.py::test_a_link_is_of_one_account_and_one_address",
    ),
    Mutant(
        "a token is believed by its look",
        11,
        "shared/domain/unsubscribe.py",
        "if hmac.compare_digest(_tag(key, payload), tag):",
        'if payload.isascii() and payload.count(b"\\0") == 2:',
        "tests/domain/test_unsubscribe.py::test_every_bit_flip_is_refused",
    ),
    Mutant(
        "a token shows whose it is",
        9,
        "shared/domain/unsubscribe.py",
        '    return (int.from_bytes(text, "big") ^ int.from_bytes(stream, "big")).to_bytes(n, "big")\n',
        '    return text if stream else b""\n',
        "tests/domain/test_unsubscribe.py::test_a_token_tells_nobody_without_the_key_what_it_says",
    ),
    Mutant(
        "who has unsubscribed is not looked for before a claim",
        11,
        "shared/engine/send.py",
        "heeded = reaches(unsubscribable=bool(lease.composition.content.unsubscribe))",
        "heeded = reaches(unsubscribable=False)",
        "tests/engine/test_unsubscribed.py::test_who_unsubscribed_since_acceptance_is_skipped_with_the_code",
    ),
    Mutant(
        "a lease looks once for who has unsubscribed",
        11,
        "shared/engine/send.py",
        "stale = lease.looked_for != latest and now - lease.looked_at >= LOOK_AGAIN",
        "stale = lease.looked_for != latest and now < lease.looked_at",
        "tests/engine/test_unsubscribed.py::test_who_unsubscribes_amid_a_slow_lease_is_left_out_of_its_rest",
    ),
    Mutant(
        "a claim looks only since the list was sent, not since it was read",
        11,
        "shared/engine/suppressed.py",
        "return min(job.created_at, made_at(job.id)) if job.campaign else job.created_at",
        "return job.created_at",
        "tests/engine/test_unsubscribed.py::test_a_campaign_s_list_was_looked_at_when_it_was_read[True]",
    ),
    Mutant(
        "who has unsubscribed is not looked for in a list",
        11,
        "shared/engine/ingest.py",
        "heeded = reaches(unsubscribable=campaign is not None and campaign.unsubscribe)",
        "heeded = reaches(unsubscribable=False and campaign is not None)",
        "tests/engine/test_ingest_skips.py::test_who_is_not_to_be_sent_to_is_skipped_with_the_first_reason_and_counted",
    ),
    Mutant(
        "a batch that offers it asks nobody who has unsubscribed",
        11,
        "functions/api/composing.py",
        "for reach in reaches(unsubscribable=call.body.unsubscribe) if keys else ():",
        "for reach in reaches(unsubscribable=False) if keys else ():",
        "tests/api/test_unsubscribed.py::test_a_batch_offers_it_on_request_and_heeds_it_then_alone",
    ),
    Mutant(
        "a list that was read without a look is sent with an offer",
        11,
        "shared/engine/campaigns.py",
        'if current.ready and changes.get("unsubscribe") and not current.unsubscribe:',
        'if current.uploading and changes.get("unsubscribe") and not current.unsubscribe:',
        "tests/api/test_unsubscribed.py::test_a_list_that_was_read_without_a_look_is_not_sent_with_an_offer",
    ),
    # 6: one bad row
    Mutant(
        "a row that cannot be made is queued again",
        6,
        "shared/engine/lease.py",
        "                self.settle(index, Rejected(message.content.code, permanent=True), 0.0)\n",
        "                self.settle(index, Rejected(message.content.code, permanent=False), 0.0)\n",
        "tests/engine/test_merge.py::test_a_row_that_cannot_be_sent_fails_alone_and_without_a_call",
    ),
    Mutant(
        "a value brings a header along",
        10,
        "shared/domain/templates.py",
        "    Kind.SUBJECT: _in_line,\n",
        "    Kind.SUBJECT: None,\n",
        "tests/engine/test_compose.py::test_a_control_character_in_a_subject_alone_becomes_a_space",
    ),
    Mutant(
        "a value brings markup along",
        10,
        "shared/domain/templates.py",
        "    Kind.HTML: _in_html,\n",
        "    Kind.HTML: None,\n",
        "tests/engine/test_compose.py::test_values_are_filled_in_and_made_safe_for_where_they_go",
    ),
    Mutant(
        "a list puts another link in the place of its own",
        11,
        COMPOSE,
        "                values[UNSUBSCRIBE_URL] = link = self._link(self._links, recipient)\n",
        "                link = self._link(self._links, recipient)\n"
        "                values.setdefault(UNSUBSCRIBE_URL, link)\n",
        "tests/engine/test_compose.py::test_a_list_cannot_put_another_link_or_recipient_in_its_place",
    ),
    # 2: never above the rate
    Mutant(
        "a short message of several segments takes one slot",
        2,
        COMPOSE,
        "slots = sms.segments(content.text).count if self._job.channel",
        "slots = min(1, sms.segments(content.text).count) if self._job.channel",
        "tests/engine/test_segments.py::test_a_message_of_two_segments_is_counted_twice_wherever_it_stands",
    ),
    # Exports and schedules
    Mutant(
        "a formula stands in an export",
        10,
        "shared/domain/exports.py",
        '    return f"\'{lines}"\n',
        "    return lines\n",
        "tests/domain/test_exports.py::test_what_a_spreadsheet_would_take_for_a_formula_is_guarded[=1+1]",
    ),
    Mutant(
        "two who ask at once have two exports made",
        7,
        EXPORT,
        "            if self._exports.save(found, new):\n",
        "            if self._exports.save(found, new) or new:\n",
        "tests/engine/test_export.py::test_of_two_who_ask_at_once_one_begins_it",
    ),
    Mutant(
        "who has lost an export's lease goes on with it",
        3,
        EXPORT,
        "        if not self._parts.exports.save(self.held, new):\n            raise _Lost\n",
        "        self._parts.exports.save(self.held, new)\n",
        "tests/engine/test_export.py::test_one_who_lost_its_lease_notices_and_its_part_is_none_of_the_file",
    ),
    Mutant(
        "who has asked for a job's archive takes it for made",
        3,
        ARCHIVE,
        "            if found.until > now:\n                return False\n",
        "            if found.until > now:\n                return True\n",
        "tests/engine/test_archive.py::test_one_at_a_time_and_a_lost_message_is_sent_again",
    ),
    Mutant(
        "the archive of a job's first end stands for all others",
        3,
        ARCHIVE,
        "found.begun_at < at:",
        "found.begun_at < 0:",
        "tests/engine/test_archive.py::test_a_job_that_ends_again_is_written_anew",
    ),
    Mutant(
        "whoever was erased stands in old versions of the archive",
        9,
        "shared/adapters/archived.py",
        "        self.client.delete_object(Bucket=self.bucket, Key=name, VersionId=version)\n",
        "",
        "tests/adapters/test_archived.py::test_their_rows_are_blanked_in_each_file_and_no_version_keeps_them",
    ),
    Mutant(
        "what is no longer kept is left out of an export",
        3,
        EXPORT,
        "                if lines is None:\n                    raise _Gone\n",
        "                if lines is None:\n                    continue\n",
        "tests/engine/test_export.py::test_what_is_no_longer_kept_is_said_and_not_left_out",
    ),
    Mutant(
        "taking back stops what has begun",
        4,
        SCHEDULES,
        "reason=reason, strict=True, event=event)",
        "reason=reason, event=event)",
        "tests/engine/test_schedules.py::test_a_job_that_starts_while_it_is_withdrawn_goes_on[memory]",
    ),
    Mutant(
        "anybody's schedule is taken back",
        9,
        SCHEDULES,
        "while job is not None and job.account == account:",
        "while job is not None:",
        "tests/engine/test_schedules.py::test_withdrawing_stops_what_waits_and_nothing_else[memory]",
    ),
)
