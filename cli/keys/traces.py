"""The traces of an API key, as the operators' door tells them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cli.output import counted

SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Traces:
    """What a key has done.

    Attributes:
        acts: action → what it was done to, the latest first; of requests that were accepted, the hours.
        endpoints: the URLs of those that it has made or changed, and that were not disabled, by id.
        notifiers: likewise, their names.
    """

    acts: dict[str, list[str]] = field(default_factory=dict)
    endpoints: dict[str, str] = field(default_factory=dict)
    notifiers: list[str] = field(default_factory=list)

    def add(self, page: Mapping[str, Any]) -> None:
        """Add what an answer says."""
        self.endpoints.update({x["id"]: x["url"] for x in page["endpoints"]})
        self.notifiers.extend(x for x in page["notifiers"] if x not in self.notifiers)
        for act, subjects in page["actions"].items():
            known = self.acts.setdefault(act, [])
            known.extend(x for x in subjects if x not in known)

    def document(self) -> dict[str, Any]:
        """Return it for programs."""
        actions = dict(sorted(self.acts.items()))
        return {"endpoints": list(self.endpoints), "notifiers": self.notifiers, "actions": actions}

    def lines(self) -> Iterator[str]:
        """Yield it for people."""
        yield from (f"endpoint {name} {url}".rstrip() for name, url in self.endpoints.items())
        yield from (f"notifier {name}" for name in self.notifiers)
        for act, subjects in sorted(self.acts.items()):
            more = f" and {counted(len(subjects) - SHOWN, 'other')}" if len(subjects) > SHOWN else ""
            yield f"{act}: {', '.join(subjects[:SHOWN])}{more}"


def all_of(ask: Callable[[str], Mapping[str, Any]]) -> tuple[str, Traces]:
    """Return the id of the account, and the traces of a whole log: an answer has as much as can be read in its time.

    Args:
        ask: asks for the traces from a place on; empty: from the newest entries on.
    """
    found, place, more = Traces(), "", True
    while more:
        page = ask(place)
        found.add(page)
        place = page["place"]
        more = bool(place)
    return page["account_id"], found
