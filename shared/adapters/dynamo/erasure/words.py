"""Erasure of what providers wrote about messages to a person: such a text may quote the address, or name the person.

Results, codes, ids and times stay: they are about the message.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.domain.ids import is_small
from shared.domain.jobs import details


def wordless(db: Dynamo, table: str, job: str, chunk: int, places: Collection[int]) -> Iterator[tuple[Item, Item, int]]:
    """Yield each stored detail of a chunk that has texts about some recipients, with its entries without these texts.

    Args:
        places: of the recipients in the chunk.

    Yields:
        The item as read, the attribute to write, and how many texts are left out.
    """
    for item in db.partition(table, keys.details_pk(job, chunk)):
        window = item["sk"]["S"].startswith(keys.WINDOW_PREFIX)
        change: Callable[[bytes, Collection[int]], tuple[bytes, int]] = _window if window else _feedback
        left, found = change(codec.binary(item, "entries"), places)
        if found:
            yield item, {"entries": {"B": left}}, found
    own = db.get(table, keys.job(job)) if is_small(job) else None
    for name, change in ((codec.WINDOW, _window), (codec.WORDS, _feedback)):
        if own is None or name not in own:
            continue
        inside = own[name]["M"]
        left, found = change(codec.binary(inside, "entries"), places)
        if found:
            yield own, {name: {"M": {**inside, "entries": {"B": left}}}}, found


def _window(data: bytes, places: Collection[int]) -> tuple[bytes, int]:
    entries = details.unpack_entries(data)
    left = tuple(replace(x, detail="") if x.index in places else x for x in entries)
    return details.pack_entries(left), sum(x != y for x, y in zip(entries, left, strict=True))


def _feedback(data: bytes, places: Collection[int]) -> tuple[bytes, int]:
    entries = details.unpack_feedback(data)
    left = tuple(replace(x, detail="") if x.index in places else x for x in entries)
    return details.pack_feedback(left), sum(x != y for x, y in zip(entries, left, strict=True))
