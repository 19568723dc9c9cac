"""Pages from templates: escaped, with the headers that let a page do nothing but what it is made for."""

import gzip
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from functions.console.assets import Assets
from functions.console.menu import menu
from functions.console.screen import Denial, PageCall
from shared.domain.accounts import Scope
from shared.domain.lanes.meanings import in_words
from shared.domain.recipients.readable import readable
from shared.web.http import Answer

TEMPLATES: Final = Path(__file__).with_name("templates")
GZIP_LEVEL: Final = 6
"""A page of 50 KB takes a millisecond."""
_PARTS: Final = re.compile(r"(?<=[/@.])(?=\w)")
HTML: Final = "text/html; charset=utf-8"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Robots-Tag": "noindex, nofollow",
}
"""Names of recipients are in addresses of pages: they go to no other site."""


class Pages:
    """Renders templates."""

    def __init__(self, assets: Assets) -> None:
        self._assets = assets

    def page(
        self,
        call: PageCall[Any],
        template: str,
        context: Mapping[str, Any],
        *,
        status: int = 200,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Answer:
        """Return a page.

        Args:
            context: what it shows, besides what every page has.
            headers: in place of those that every page has, or besides them.
        """
        body = _templates().get_template(template).render(**self._common(call), **context)
        return Answer(status, body, {**HEADERS, **headers}, HTML, gzip.compress(body.encode(), GZIP_LEVEL, mtime=0))

    def refused(self, call: PageCall[Any], found: Denial) -> Answer:
        """Return the page of something that is not done."""
        return self.page(call, "refusal.html", {"title": found.title, "text": found.text}, status=found.status)

    def _common(self, call: PageCall[Any]) -> dict[str, Any]:
        visitor = call.visitor
        return {
            "home": call.home,
            "top": call.top,
            "asset": lambda name: call.home + self._assets.path(name),
            "person": visitor.person if visitor else None,
            "csrf": call.services.sessions.token(visitor.name) if visitor else "",
            "account": call.path.get("account", "") if call.role else "",
            "account_name": call.account_name,
            "pause": call.pause,
            "leaves_at": call.leaves_at,
            "menu": menu(call),
            "hosts_pictures": call.services.settings.images[0] > 0,
            "may_send": call.may(Scope.SEND),
            "may_admin": call.may(Scope.ADMIN),
            "now": call.services.now,
        }


@cache
def _templates() -> Environment:
    """Return the templates; each is compiled once in a process. All of them have the macros of `parts.html`."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "time": shown_time,
        "number": shown_number,
        "parted": parted,
        "readable": shown_address,
        "in_words": in_words,
    }
    made.globals["parts"] = made.get_template("parts.html").module
    return made


def shown_time(ms: int) -> Markup:
    """Return a time as HTML: UTC, which a script shows in the viewer's zone. `ms`: Unix milliseconds; 0: never."""
    if not ms:
        return Markup("&ndash;")
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    exact = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    text = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(exact, text, text)


def shown_number(value: float) -> str:
    """Return a number as people read it: 1,234,567."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def shown_address(text: str) -> Markup:
    """Return an address, or a domain, as people write it; one of an internationalised domain also as it is stored."""
    return _beside(text, escape)


def parted(text: str) -> Markup:
    """Return a heading that breaks between the parts of an address, where one line is too short for it.

    An address of an internationalised domain is there as people write it, and as it is stored.
    """
    return _beside(text, _parted)


def _beside(text: str, written: Callable[[str], Markup]) -> Markup:
    people = readable(text)
    if people == text:
        return written(text)
    return Markup('<bdi>{}</bdi> <small class="quiet">{}</small>').format(written(people), written(text))


def _parted(text: str) -> Markup:
    return Markup("<wbr>").join(escape(part) for part in _PARTS.split(text))
