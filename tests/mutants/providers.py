"""Sabotages of what speaks with providers: a hidden resend, an absence too soon, a signature that nobody checks."""

from typing import Final

from tests.mutants.mutant import Mutant

LEASE: Final = "shared/engine/lane/lease.py"
SENDGRID: Final = "shared/providers/sendgrid/send.py"

PROVIDERS: Final = (
    Mutant(
        "who has left at a provider comes back from our own list as well",
        11,
        "shared/engine/outcome/track.py",
        "self._records.allow(job.account, key, reach=Reach.CAMPAIGNS, reason=UNSUBSCRIBED)",
        "self._records.allow(job.account, key, reach=Reach.CAMPAIGNS)",
        "tests/engine/test_left.py::test_a_provider_cannot_undo_an_unsubscription_by_our_link",
    ),
    Mutant(
        "a client's words are searched for a provider's",
        6,
        "shared/providers/_common.py",
        '_QUOTED.sub(lambda m: m["own"] or "<>", text)',
        "text",
        "tests/attacks/test_words_of_a_provider_in_a_message.py"
        "::test_nothing_that_a_client_writes_changes_what_a_reply_means[resend]",
    ),
    Mutant(
        "words that one account's messages met stop a provider for all",
        6,
        "shared/engine/lane/admission.py",
        "Verdict.FATAL if len(self._said) > 1 else",
        "Verdict.FATAL if self._said else",
        "tests/engine/test_admission.py::test_words_alone_refuse_our_account_only_after_messages_of_two",
    ),
    Mutant(
        "a vendor that breaks has surely sent nothing",
        1,
        "shared/providers/_common.py",
        'return Unknown(f"http_{status}")',
        'return Rejected(f"http_{status}", permanent=False)',
        "tests/providers/test_broken_words.py::test_what_was_taken_and_called_broken_is_never_sent_again[sendgrid-500]",
    ),
    Mutant(
        "hidden resend in the HTTP client",
        1,
        "shared/adapters/http/transport.py",
        "            except _ClosedUnwritten:\n                pass  #",
        "            except (_ClosedUnwritten, AnswerLost):\n                pass  #",
        "tests/adapters/test_http.py::test_a_lost_answer_is_reported_and_the_request_arrives_once"
        "[HttpClient-True-dropped-connection_closed]",
    ),
    Mutant(
        "what follows an answer on its connection is taken for the next call's answer",
        1,
        "shared/adapters/http/answer.py",
        "self.keep = False  # something else",
        "self.keep = True  # something else",
        "tests/adapters/test_http_answer.py"
        "::test_a_connection_on_which_more_follows_is_not_kept_and_the_answer_is_the_first[x]",
    ),
    Mutant(
        "an answer that is cut off counts as whole",
        1,
        "shared/adapters/http/answer.py",
        'if not self._headed or "content-length" in self._headers or',
        "if not self._headed or",
        "tests/adapters/test_http_answer.py::test_the_end_of_the_stream_ends_only_an_answer_without_a_length[cut]",
    ),
    Mutant(
        "written on a wire, and again by a thread",
        1,
        "shared/adapters/http/wire.py",
        "        if not exchange.write(connection) and not connection.tls:",
        "        if exchange.write(connection):",
        "tests/adapters/test_http_wire.py::test_what_is_answered_meanwhile_frees_its_connection",
    ),
    Mutant(
        "absence is proof before events have settled",
        1,
        "shared/providers/mailgun/lookup.py",
        'return Unknown("too_early") if isinstance(found, Absent) and now - at < SETTLED else found',
        "return found",
        "tests/providers/test_mailgun_lookup.py::test_absence_is_proof_only_when_events_have_settled",
    ),
    Mutant(
        "what Mailgun's logs do not show was never taken",
        1,
        "shared/providers/mailgun/lookup.py",
        "    if isinstance(found, Accepted):\n        return found\n",
        '    if isinstance(found, Accepted):\n        return found\n    if found == Unknown("not_found"):\n'
        "        return Absent()\n",
        "tests/providers/test_mailgun_logs.py::test_logs_that_show_nothing_prove_nothing_and_the_events_decide[answer1]",
    ),
    Mutant(
        "what SendGrid's logs do not show was never taken",
        1,
        "shared/providers/sendgrid/lookup.py",
        'return Unknown("not_found")',
        "from shared.domain.jobs.outcomes import Absent\n\n    return Absent()",
        "tests/providers/test_sendgrid_lookup.py::test_nothing_ever_proves_absence[3600.0]",
    ),
    Mutant(
        "what Postmark's list does not show was never taken",
        1,
        "shared/providers/postmark/lookup.py",
        'return Unknown("not_found")',
        "from shared.domain.jobs.outcomes import Absent\n\n    return Absent()",
        "tests/providers/test_postmark.py"
        "::test_a_message_in_the_list_was_accepted_and_one_that_is_not_may_have_been[answer2-found2]",
    ),
    Mutant(
        "one refused message of Postmark's batch is taken for all",
        1,
        "shared/providers/postmark/send.py",
        "return [self._outcome(result, content, t) for result, t in zip(results, targets, strict=True)]",
        "return [self._outcome(results[0], content, t) for t in targets]",
        "tests/providers/test_postmark_simulated.py::test_each_message_of_a_call_has_a_fate_of_its_own",
    ),
    Mutant(
        "Postmark's webhooks are believed without a password",
        9,
        "shared/providers/postmark/events.py",
        "if not sum([hmac.compare_digest(pair, given) for pair in known]):",
        "if not known:",
        "tests/providers/test_postmark_events.py::test_any_other_post_is_refused[headers0-secret0-wrong_password]",
    ),
    Mutant(
        "Resend's key without the attempt",
        1,
        "shared/providers/resend/send.py",
        '"Idempotency-Key": target.ref}',
        '"Idempotency-Key": target.ref.rpartition("-")[0]}',
        "tests/providers/test_resend_simulated.py::test_a_new_attempt_is_never_answered_for_an_older_one",
    ),
    Mutant(
        "one refused address condemns its whole call",
        6,
        SENDGRID,
        "outcomes: list[Outcome] = [BATCH_REFUSED] * n",
        "outcomes: list[Outcome] = [refusal.rejected()] * n",
        "tests/providers/test_sendgrid.py::test_only_the_recipient_that_is_named_is_condemned",
    ),
    Mutant(
        "a call refused as a whole costs the others an attempt",
        6,
        LEASE,
        "            elif len(parcel.indices) > 1:\n",
        "            elif len(parcel.indices) > len(outcomes):\n",
        "tests/engine/test_divided.py::test_five_bad_of_five_hundred_cost_the_others_no_attempt_and_no_second",
    ),
    Mutant(
        "a question waits for its slot without an end",
        3,
        "shared/engine/outcome/resolve.py",
        "lead=0.0, until=last)",
        "lead=0.0)",
        "tests/engine/test_resolve_pace.py::test_a_question_waits_for_no_slot_beyond_its_time",
    ),
    Mutant(
        "each lease makes the refused call again as it was",
        3,
        LEASE,
        "c = min(rate.per_call, self.ledger.per_call or rate.per_call)",
        "c = rate.per_call",
        "tests/engine/test_divided.py::test_leases_too_short_to_divide_a_call_divide_it_together[30.0]",
    ),
    Mutant(
        "a relay gets every header",
        9,
        "shared/providers/smtp/send.py",
        "if any(name.lower() not in allowed for name, _ in content.headers):",
        "if any(name.lower() not in allowed for name, _ in content.headers[:0]):",
        "tests/attacks/test_headers_that_instruct_relays.py"
        "::test_a_relay_gets_no_header_that_its_credential_does_not_list[X-Unheard-Of]",
    ),
    Mutant(
        "a signature of Mailgun's is good for any body",
        9,
        "functions/webhooks/services.py",
        "if not self.first(seal):",
        "if not self.first(seal) and not seal.said:",
        "tests/attacks/test_a_captured_mailgun_signature.py"
        "::test_another_body_under_a_signature_that_was_used_is_refused",
    ),
    Mutant(
        "signature check skipped: SendGrid",
        9,
        "shared/providers/sendgrid/events.py",
        "if not any(_holds(key, signature, signed) for key in known):",
        "if not (signed and known):",
        "tests/providers/test_sendgrid_events.py::test_several_keys_while_they_are_rotated",
    ),
    Mutant(
        "signature check skipped: Mailgun",
        9,
        "shared/providers/mailgun/events.py",
        "if not sum([hmac.compare_digest(ours, theirs) for ours in made for theirs in signatures]):",
        "if not made:",
        "tests/providers/test_mailgun_events.py::test_several_keys_while_they_are_changed",
    ),
    Mutant(
        "signature never asked for",
        9,
        "functions/webhooks/receive.py",
        "        reader.verify(headers, body, using.secret(credential_id), now)\n",
        "",
        "tests/webhooks/test_receive.py::test_a_credential_without_a_key_refuses_every_webhook",
    ),
    Mutant(
        "recipients see each other",
        9,
        SENDGRID,
        '        personal = ",".join([_personalization(content, t, alone=len(targets) == 1) for t in targets])\n',
        '        everybody = json.dumps([{"email": t.recipient.address} for t in targets])\n'
        '        personal = f\'{{"to":{everybody},"custom_args":{{"{REF_ARG}":"{targets[0].ref}"}}}}\'\n',
        "tests/providers/test_sendgrid.py::test_the_request_is_the_one_the_vendors_sdk_builds[content3-targets3]",
    ),
    Mutant(
        "a post that makes no sense is taken",
        10,
        "shared/providers/sendgrid/events.py",
        '            raise BadEvents("not_an_array_of_objects")\n',
        "            events = []\n",
        "tests/providers/test_sendgrid_events.py::test_a_body_that_is_not_an_array_of_objects[[1]]",
    ),
)
