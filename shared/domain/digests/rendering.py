"""The mail of a digest: each event's line is rendered once for its window, and messages are put together of lines.

Everything here is a pure function of what is stored, so that a message is the same, to the last byte, whenever it is
made. Nothing that an event holds can make a message fail: values are cleaned and cut, and lines that find no room are
counted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from html import escape
from typing import Final
from zoneinfo import ZoneInfo

from shared.domain.channels.lookup import channel_of
from shared.domain.content.content import Content, DigestLines, Mailbox
from shared.domain.content.plain_text import text_template
from shared.domain.content.templates import UNSUBSCRIBE_URL, Template, TemplateKind
from shared.domain.digests import default_mail
from shared.domain.digests.events import DigestEvent
from shared.domain.digests.policy import DigestPolicy
from shared.domain.digests.summary import counted, counts, summary

EVENTS: Final = "events"
TYPES: Final = "types"
FRAME: Final = frozenset(
    {EVENTS, TYPES, "count", "counts", "summary", "batch_key", "first_at", "last_at", "period", UNSUBSCRIBE_URL}
)
"""The names that a digest's template may use."""
IN_LINES: Final = frozenset({"event_type", "timestamp", "details"})
"""The names that a line may use besides the event's own data."""
MAX_VALUE: Final = 1_000
"""Characters of a value in a line; a longer one is cut."""
MAX_VALUES: Final = 8_000
"""Characters of all values in a line."""
MAX_LINES: Final = 1_000_000
"""Characters of all lines in a message; the events of the other lines are counted."""
MAX_SHORT: Final = 900
"""The same of a text message."""
MAX_SUBJECT: Final = 500
"""Characters of a subject; a longer one is cut."""
MAX_TYPES: Final = 10
"""Types whose events are counted on top."""
_SHOWN_DATA: Final = 6
_SHOWN_VALUE: Final = 160
_UNFIT: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef]")
"""Control characters, lone surrogates and noncharacters: no mail shows them, and two mark the places of lines."""
_EVENTS_MARK, _TYPES_MARK = "\ufdd2", "\ufdd3"
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9_]")
_BLANKS: Final = re.compile(r"\s+")
_PLACE: Final = {name: re.compile(rf"\{{\{{\s*{name}\s*\}}\}}", re.IGNORECASE) for name in (EVENTS, TYPES)}
_ITEM: Final = re.compile(r"\s*<(tr|li)\b", re.IGNORECASE)


def digest_content(policy: DigestPolicy, key: str, events: Sequence[DigestEvent], unsubscribe: str = "") -> Content:
    """Return the content of a window's digest, without groups.

    Args:
        policy: as of the window's opening.
        events: in the order of the digest.
        unsubscribe: what the tokens of links are appended to; used if the policy offers an unsubscription.
    """
    by = channel_of(policy.channel)
    link = policy.unsubscribe and by.offers_links
    html = _frame(policy, link=link) if by.rich else ""
    return Content(
        sender=policy.sender or Mailbox(""),
        subject=(policy.subject or default_mail.SUBJECT) if by.needs_subject else "",
        html=html,
        text=_text_frame(policy, html, link=link),
        merge=True,
        unsubscribe=unsubscribe if link else "",
        digest=_lines(policy, key, events),
    )


def _lines(policy: DigestPolicy, key: str, events: Sequence[DigestEvent]) -> DigestLines:
    by, zone = channel_of(policy.channel), ZoneInfo(policy.timezone)
    moments = [datetime.fromtimestamp(event.at / 1000, UTC).astimezone(zone) for event in events]
    values = [_values(event, f"{at:%Y-%m-%d %H:%M:%S}") for event, at in zip(events, moments, strict=True)]
    lines = _Lines(policy, by.text_kind)
    return DigestLines(
        html=tuple(lines.html(x) for x in values) if by.rich else (),
        text=tuple(lines.text(x) for x in values),
        types=tuple(x["event_type"] for x in values),
        times=tuple(f"{at:%Y-%m-%d %H:%M:%S %Z}" for at in moments),
        key=_clean(key),
        max_lines=policy.max_lines,
        policy=policy.prefix,
    )


class Groups:
    """Puts messages together; its templates are compiled once. Safe for threads.

    Args:
        content: of a digest, with its groups.

    Raises:
        ValueError: the content is none of a digest.
        InvalidTemplateError: a template is invalid, which the policy's check has ruled out.
    """

    def __init__(self, content: Content) -> None:
        if content.digest is None:
            raise ValueError("the content is none of a digest")
        self._content = content
        self._digest = content.digest
        self._subject = Template.parse(content.subject, TemplateKind.SUBJECT)
        self._html = Template.parse(content.html, TemplateKind.HTML)
        self._text = Template.parse(content.text, TemplateKind.TEXT)

    def __len__(self) -> int:
        return len(self._digest.groups)

    def of(self, group: int, link: str = "") -> Content:
        """Return the message of a group, complete except for headers of its own for each recipient.

        Args:
            link: the recipient's own link to unsubscribe; empty: none.
        """
        digest, numbers = self._digest, self._digest.groups[group]
        types = [digest.types[n] for n in numbers]
        shown = numbers[: self._room(numbers)]
        more = len(numbers) - len(shown)
        first, last = digest.times[numbers[0]], digest.times[numbers[-1]]
        values = {
            EVENTS: _EVENTS_MARK,
            TYPES: _TYPES_MARK,
            "count": str(len(numbers)),
            "counts": counts(types),
            "summary": summary(types, digest.key),
            "batch_key": digest.key,
            "first_at": first,
            "last_at": last,
            "period": _period(first, last),
            UNSUBSCRIBE_URL: link,
        }
        rich = bool(digest.html)
        html = [digest.html[n] for n in shown] if rich else []
        text = [digest.text[n] for n in shown]
        return replace(
            self._content,
            subject=_cut(self._subject.render(values), MAX_SUBJECT),
            html=_filled(self._html, values, _html_lines(html, more), _html_types(types)) if rich else "",
            text=_filled(self._text, values, _text_lines(text, more, rich=rich), _text_types(types)),
            merge=False,
            digest=None,
        )

    def _room(self, numbers: Sequence[int]) -> int:
        """Return how many of a group's lines its message shows."""
        digest = self._digest
        left = MAX_LINES if digest.html else MAX_SHORT
        for shown, n in enumerate(numbers[: digest.max_lines]):
            left -= len(digest.text[n]) + (len(digest.html[n]) if digest.html else 0)
            if left < 0:
                return shown
        return min(len(numbers), digest.max_lines)


def compose_group(content: Content, group: int, link: str = "") -> Content:
    """Return the message of one group; `Groups` makes several at less cost.

    Args:
        content: of a digest, with its groups.
        group: which of them, from 0.
        link: the recipient's own link to unsubscribe; empty: none.
    """
    return Groups(content).of(group, link)


class _Lines:
    """Renders the lines of events."""

    def __init__(self, policy: DigestPolicy, kind: TemplateKind) -> None:
        self._html = Template.parse(policy.line or default_mail.LINE, TemplateKind.HTML)
        self._text = line_text(policy.line, policy.line_text, kind)
        self._most = min(_share(self._html), _share(self._text))

    def html(self, values: Mapping[str, str]) -> str:
        return self._html.render({name: _cut(value, self._most) for name, value in values.items()})

    def text(self, values: Mapping[str, str]) -> str:
        cut = {name: _cut(_BLANKS.sub(" ", value).strip(), self._most) for name, value in values.items()}
        return self._text.render(cut).strip()


def line_text(line: str, text: str, kind: TemplateKind = TemplateKind.TEXT) -> Template:
    """Return the template of a line of the text part: its own, else derived from the HTML's, else the default one.

    Args:
        line: the line's HTML, or empty.
        text: the line's own text, or empty.
        kind: of a text by the policy's channel.

    Raises:
        InvalidTemplateError: a template is invalid.
    """
    if not text and line:
        return text_template(Template.parse(line, TemplateKind.HTML))
    return Template.parse(text or default_mail.LINE_TEXT, kind)


def _share(template: Template) -> int:
    """Return how long a value may be in a line: a line with many placeholders has short ones."""
    return min(MAX_VALUE, MAX_VALUES // max(1, template.text.count("{{")))


def _values(event: DigestEvent, timestamp: str) -> dict[str, str]:
    data = {_clean(name): _clean(value) for name, value in event.data.items()}
    shown = [(name, value) for name, value in data.items() if value][:_SHOWN_DATA]
    details = " · ".join(f"{name}: {_cut(_BLANKS.sub(' ', value).strip(), _SHOWN_VALUE)}" for name, value in shown)
    named = {_NOT_IN_NAMES.sub("_", name.lower()): value for name, value in data.items()}
    return {"details": details, **named, "event_type": _clean(event.type), "timestamp": timestamp}


def _frame(policy: DigestPolicy, *, link: bool) -> str:
    """Return the HTML around the lines; rows of a table get one if the template does not know that they are rows."""
    own = policy.template
    html = own or default_mail.HTML.replace(default_mail.FOOTER, default_mail.LINK if link else "")
    item = _ITEM.match(policy.line or default_mail.LINE)
    wrap = ("", "") if own and policy.line else _wrap(item[1].lower() if item else "")
    html = _PLACE[EVENTS].sub(lambda m: f"{wrap[0]}{m[0]}{wrap[1]}", html)
    return _PLACE[TYPES].sub(lambda m: m[0].join(default_mail.TYPES_TABLE), html)


def _wrap(item: str) -> tuple[str, str]:
    return {"tr": default_mail.EVENTS_TABLE, "li": ("<ul>", "</ul>")}.get(item, ("<div>", "</div>"))


def _text_frame(policy: DigestPolicy, html: str, *, link: bool) -> str:
    if policy.text:
        return policy.text
    if not channel_of(policy.channel).rich:
        return default_mail.SHORT
    if policy.template:
        return text_template(Template.parse(html, TemplateKind.HTML)).text
    return default_mail.TEXT + (default_mail.TEXT_LINK if link else "")


def _filled(template: Template, values: Mapping[str, str], lines: str, types: str) -> str:
    """Render a frame. Lines are finished text, so they come last, and each block only once."""
    framed = template.render(values)
    for mark, block in ((_TYPES_MARK, types), (_EVENTS_MARK, lines)):
        before, found, after = framed.partition(mark)
        framed = before + block + after.replace(mark, "") if found else framed
    return framed


def _html_lines(lines: Sequence[str], more: int) -> str:
    out = list(lines)
    if more:
        said = f"… {default_mail.MORE.format(more)}"
        item = _ITEM.match(lines[0]) if lines else None
        kind = item[1].lower() if item else ""
        forms = {"tr": f'<tr><td colspan="20" class="more">{said}</td></tr>', "li": f'<li class="more">{said}</li>'}
        out.append(forms.get(kind, f'<p class="more">{said}</p>'))
    return "\n".join(out)


def _text_lines(lines: Sequence[str], more: int, *, rich: bool) -> str:
    said = f"{'… ' if rich else ''}{default_mail.MORE.format(more)}"  # an ellipsis would make an SMS longer
    return "\n".join([*lines, *([said] if more else [])])


def _html_types(types: Sequence[str]) -> str:
    found = counted(types)
    rows = [f'<tr><td class="n">{n:,}</td><td>{escape(name)}</td></tr>' for name, n in found[:MAX_TYPES]]
    if len(found) > MAX_TYPES:
        rows.append(f'<tr><td class="n">{_other(found):,}</td><td class="more">{default_mail.OTHER_TYPES}</td></tr>')
    return "\n".join(rows)


def _text_types(types: Sequence[str]) -> str:
    found = counted(types)
    rows = [*found[:MAX_TYPES], *([(default_mail.OTHER_TYPES, _other(found))] if len(found) > MAX_TYPES else [])]
    width = max(len(f"{n:,}") for _, n in rows)
    return "\n".join(f"{n:>{width},}  {name}" for name, n in rows)


def _period(first: str, last: str) -> str:
    """Return two moments as one period: a date that both have is written once."""
    day, _, time = first.partition(" ")
    last_day, _, last_time = last.partition(" ")
    zone = time.partition(" ")[2]
    if first == last:
        return first
    if day != last_day or zone != last_time.partition(" ")[2]:
        return default_mail.PERIOD.format(first, last)
    return default_mail.PERIOD.format(first.removesuffix(f" {zone}"), last_time)


def _other(found: Sequence[tuple[str, int]]) -> int:
    return sum(n for _, n in found[MAX_TYPES:])


def _clean(text: str) -> str:
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
