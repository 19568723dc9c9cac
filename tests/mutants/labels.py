"""Sabotages of what owners call their batches and messages."""

from typing import Final

from tests.mutants.mutant import Mutant

API: Final = "tests/api/test_labels.py"
TEMPLATES: Final = "tests/api/test_batch_templates.py"

LABELS: Final = (
    Mutant(
        "another name of a notice sends it again",
        1,
        "shared/domain/notices/actions.py",
        "    if notice.data == data and notice.status is not NoticeStatus.CANCELED:\n        _drop",
        "    if (notice.data, notice.labels) == (data, asked.labels) and notice.status is not NoticeStatus.CANCELED:\n"
        "        _drop",
        "tests/domain/notices/test_notices.py::test_another_name_alone_sends_nothing_again[NEW]",
    ),
    Mutant(
        "messages of notices have no names",
        10,
        "shared/domain/content/personal.py",
        "if job.kind not in (BATCH, NOTICE) or",
        "if job.kind != BATCH or",
        "tests/engine/notices/test_due.py::test_each_message_of_a_run_has_the_names_of_its_notice",
    ),
    Mutant(
        "the batch's metadata hide the recipient's own",
        10,
        "shared/domain/content/personal.py",
        "{**shared.metadata, **own.metadata}",
        "{**own.metadata, **shared.metadata}",
        f"{API}::test_a_recipient_s_own_metadata_come_before_those_of_the_batch",
    ),
    Mutant(
        "of a recipient with two kinds of metadata one is lost without a word",
        3,
        "shared/engine/intake/addresses.py",
        "if first.setdefault(place, (entry, own))[1] != own:",
        "if first.setdefault(place, (entry, own))[1] is None:",
        f"{API}::test_what_cannot_be_kept_is_refused_by_name[given17-to.2]",
    ),
    Mutant(
        "a value that is missing is an empty one",
        10,
        "shared/engine/intake/addresses.py",
        "needed = [name for name in names if name not in asked.params]",
        "needed = [name for name in names[:0] if name not in asked.params]",
        f"{TEMPLATES}::test_missing_values_are_named_by_recipient_and_nothing_is_stored",
    ),
    Mutant(
        "a recipient gets the batch's value in place of their own",
        10,
        "shared/engine/intake/addresses.py",
        "own.params[name] if name in own.params else params[name]",
        "params[name] if name in params else own.params[name]",
        f"{TEMPLATES}::test_each_recipient_gets_the_template_with_their_values",
    ),
    Mutant(
        "values for all recipients fill the function's memory",
        10,
        "shared/engine/intake/addresses.py",
        "if whole > MAX_VALUES:",
        "if size > MAX_VALUES:",
        f"{TEMPLATES}::test_values_for_all_recipients_together_have_a_bound",
    ),
    Mutant(
        "a link to unsubscribe is empty",
        11,
        "shared/engine/intake/message.py",
        "if UNSUBSCRIBE_URL in found and not content.unsubscribe:",
        "if UNSUBSCRIBE_URL in found and content.unsubscribe is None:",
        f"{TEMPLATES}::test_a_link_to_unsubscribe_is_asked_for",
    ),
    Mutant(
        "an erased person's batch keeps its metadata",
        9,
        "shared/adapters/dynamo/erasure/mails.py",
        '("subject", "labels", "name")',
        '("subject", "name")',
        f"{API}::test_erasure_removes_a_recipient_s_own_and_all_of_a_message_alone",
    ),
    Mutant(
        "an erased person's mail keeps its reference",
        9,
        "shared/adapters/dynamo/erasure/mails.py",
        "REMOVE #reference, #tags ADD #version :one",
        "SET #reference = #reference REMOVE #tags ADD #version :one",
        f"{API}::test_a_mail_has_a_reference_and_tags_in_each_form",
    ),
    Mutant(
        "an export shows how metadata are kept",
        10,
        "shared/engine/reports/export.py",
        "return [name for name in known if name != PERSONAL]",
        "return [*known]",
        f"{API}::test_an_export_has_them_as_its_last_columns",
    ),
)
