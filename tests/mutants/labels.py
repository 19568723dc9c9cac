"""Sabotages of what owners call their batches and messages."""

from typing import Final

from tests.mutants.mutant import Mutant

API: Final = "tests/api/test_labels.py"

LABELS: Final = (
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
        "if first.setdefault(place, own) != own:",
        "if first.setdefault(place, own) is None:",
        f"{API}::test_what_cannot_be_kept_is_refused_by_name[given17-to.2]",
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
        "an export shows how metadata are kept",
        10,
        "shared/engine/reports/export.py",
        "return [name for name in known if name != PERSONAL]",
        "return [*known]",
        f"{API}::test_an_export_has_them_as_its_last_columns",
    ),
)
