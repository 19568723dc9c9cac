"""What searches find a person by goes with the person: pages, marks of lists, and marks that wait for a fold."""

from shared.domain.namespaces import namespaces_of
from shared.domain.searching.marks import Sought, mark
from tests.api.conftest import Api
from tests.api.test_erasing import PERSON, Bucket, bucket, erase
from tests.api.test_found_messages import found, posted
from tests.fakes.held import items_of

__all__ = ["bucket"]
OTHER = "ben@example.org"


def holders(api: Api, person: str) -> list[str]:
    """Return the items that have a person's mark."""
    wanted = [mark(x, Sought.RECIPIENT, person) for x in namespaces_of(api.account)]
    items = items_of((api.tables.records,))
    return [
        f"{x['pk']['S']} {x['sk']['S']}" for x in items if "marks" in x and any(w in x["marks"]["B"] for w in wanted)
    ]


def test_no_mark_of_a_person_is_left_and_others_are_still_found(api: Api, bucket: Bucket) -> None:
    waiting = posted(api, PERSON, OTHER, route=["one"])
    folded = posted(api, PERSON, OTHER, route=["one"])
    large = posted(api, PERSON, OTHER, *(f"p{i}@example.org" for i in range(20)), route=["one"])
    campaign = api.campaign()
    upload = api.listed(campaign, {"recipient": PERSON, "name": "Ann"}, {"recipient": OTHER, "name": "B"})
    assert len(holders(api, PERSON)) >= 4
    both = {(job, "0.1") for job in (waiting, folded, large)}
    erase(api, bucket)
    assert holders(api, PERSON) == []
    assert found(api, recipient=PERSON) == []
    assert set(found(api, recipient=OTHER)) == both
    api.world.settle()
    assert holders(api, PERSON) == []
    assert set(found(api, recipient=OTHER)) == both
    assert any(upload in x for x in holders(api, OTHER))


def test_a_dry_run_leaves_all_marks(api: Api, bucket: Bucket) -> None:
    posted(api, PERSON, OTHER, route=["one"])
    before = holders(api, PERSON)
    erase(api, bucket, dry=True)
    assert holders(api, PERSON) == before != []
