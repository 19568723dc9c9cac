"""Answers that a page shows, compared with what a command printed.

What differs from run to run has only the same form: ids, times, keys, addresses. An id on a page means the same thing
wherever the page has it. `…` on a page is anything: in a string, as an item of a list any more items, as a name any
more names, as a line any lines.
"""

import json
import re
from typing import Any, Final

from tests.cli.printed import MASKS

ANY: Final = "…"
FORMS: Final = {
    r"(?<=[/,])\d+\.\d+(?=[ ,])": "NUMBER",
    r"(?<=[ ,])(?:sendgrid|mailgun)(?=[ ,\n])": "PROVIDER",
    r"(?<= )\d:\d\d:\d\d(?= )": "DURATION",
    **MASKS,
}
"""What differs from run to run: also which provider of a route takes a message, and with it the message's number."""
PASSING: Final = frozenset({"TIME", "CLOCK", "HOST", "NUMBER", "PROVIDER", "DURATION"})
"""What is not the name of a thing."""
BAR: Final = re.compile(r"━+")
_MASK: Final = re.compile("|".join(f"({form})" for form in FORMS))


class Answers:
    """The answers of one page.

    Attributes:
        meant: what the page's own ids stand for.
    """

    def __init__(self) -> None:
        self.meant: dict[str, str] = {}

    def filled(self, commands: str) -> str:
        """Return commands with the real ids in place of the page's."""
        return _MASK.sub(lambda found: self.meant.get(found[0], found[0]), commands)

    def check(self, kind: str, shown: str, said: str) -> None:
        """Assert that a command printed what the page shows. `kind`: `json` or `text`; empty: nothing is shown."""
        if kind == "json":
            self._json(shown, said)
        else:
            assert self._means(_lines(shown), _lines(said), flags=re.NOFLAG), f"shown:\n{shown}\nprinted:\n{said}"

    def _json(self, shown: str, said: str) -> None:
        expected, found = _documents(shown), _documents(said)
        assert len(expected) == len(found), f"shown:\n{shown}\nprinted:\n{said}"
        for one, other in zip(expected, found, strict=True):
            wrong = self._differs(one, other, "")
            assert not wrong, f"{wrong}\nshown:\n{shown}\nprinted:\n{said}"

    def _differs(self, shown: Any, said: Any, where: str) -> str:
        """Return the first place at which a document is another than the one that is shown, or nothing."""
        if shown == ANY:
            return ""
        if isinstance(shown, str) and isinstance(said, str):
            return "" if self._means(shown, said, flags=re.DOTALL) else f"{where}: {said!r}"
        if isinstance(shown, dict) and isinstance(said, dict):
            return self._names(shown, said, where)
        if isinstance(shown, list) and isinstance(said, list):
            more = shown[-1:] == [ANY]
            pairs = zip(shown[:-1] if more else shown, said, strict=False)
            wrong = [self._differs(one, other, f"{where}.{n}") for n, (one, other) in enumerate(pairs)]
            if len(said) < len(shown) - more or (len(said) > len(shown) and not more):
                wrong.append(f"{where}: {len(said)} items")
            return next(filter(None, wrong), "")
        return "" if shown == said and type(shown) is type(said) else f"{where}: {said!r}"

    def _names(self, shown: dict[str, Any], said: dict[str, Any], where: str) -> str:
        missing, more = shown.keys() - said.keys() - {ANY}, said.keys() - shown.keys()
        if missing or (more and ANY not in shown):
            return f"{where}: missing {sorted(missing)}, more {sorted(more)}"
        pairs = ((name, value) for name, value in shown.items() if name != ANY)
        return next(filter(None, (self._differs(v, said[k], f"{where}.{k}") for k, v in pairs)), "")

    def _means(self, shown: str, said: str, *, flags: re.RegexFlag) -> bool:
        """Return whether a text has the form of the one that is shown; note what its ids stand for."""
        names: list[str] = []
        form, place = "", 0
        for found in _MASK.finditer(shown):
            form += _literal(shown[place : found.start()]) + self._form(found, names)
            place = found.end()
        match = re.fullmatch(form + _literal(shown[place:]), said, flags)
        if match:
            self.meant |= dict(zip(names, match.groups(), strict=True))
        return match is not None

    def _form(self, found: re.Match[str], names: list[str]) -> str:
        """Return the form of an id, a time, …; add an id of unknown meaning to the names."""
        form, mask = list(FORMS.items())[(found.lastindex or 0) - 1]
        if mask in PASSING:
            return f"(?:{form})"
        if found[0] in self.meant:
            return re.escape(self.meant[found[0]])
        if found[0] in names:
            return rf"\{names.index(found[0]) + 1}"
        names.append(found[0])
        return f"({form})"


def _literal(text: str) -> str:
    """Return the form of a text without ids. Spaces are as many as a column needs."""
    form = re.sub(r"(?m)^…\n", "\0", text)
    form = re.sub(r"(?:\\ )+", " +", re.escape(form))
    return BAR.sub("[━╸╺]+", form).replace("\0", r"(?:.*\n)*?").replace(re.escape(ANY), ".*?")


def _lines(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


def _documents(text: str) -> list[Any]:
    """Return the JSON documents that a text consists of."""
    found = []
    rest = text.strip()
    while rest:
        document, end = json.JSONDecoder().raw_decode(rest)
        found.append(document)
        rest = rest[end:].strip()
    return found
