"""The part of limits that a campaign's job holds."""

from shared.domain.spending.limits import Charge
from shared.domain.spending.reserved import Reserved, unpack

CHARGE = Charge("acc_a", "2026-11-20", {"sms": 20, "price": 1_500_000}, {"sms": 50, "price": 10**9})


def counts(queued: int = 0, skipped: int = 0) -> dict[str, int]:
    return {"queued": queued, "skipped": skipped, "sent": 3}


def test_the_part_of_unsent_messages_is_of_every_measure() -> None:
    held = Reserved(CHARGE, 10, skipped=2)
    part = held.unsent(counts(queued=3, skipped=3))
    assert part is not None
    assert part.amounts == {"sms": 8, "price": 600_000}


def test_a_job_whose_messages_were_all_sent_gives_nothing_back() -> None:
    assert Reserved(CHARGE, 10, skipped=2).unsent(counts(skipped=2)) is None


def test_no_more_is_given_back_than_was_counted() -> None:
    part = Reserved(CHARGE, 10, skipped=0).unsent(counts(queued=9, skipped=9))
    assert part is not None
    assert part.amounts == CHARGE.amounts


def test_what_is_stored_is_read_again_with_its_key() -> None:
    keyed = Charge("acc_a", "2026-11-20", {"sms": 20}, {"sms": 50}, "0123456789abcdef", {"sms": 30})
    for charge in (CHARGE, keyed):
        held = Reserved(charge, 10, 2)
        again = unpack(held.pack())
        assert (again.messages, again.skipped) == (10, 2)
        parts = [(key, measure, amount) for key, measure, amount, _ in again.charge.parts()]
        assert sorted(parts) == sorted((key, measure, amount) for key, measure, amount, _ in charge.parts())
