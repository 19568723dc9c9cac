"""The building blocks of the console's pages: a route as data, one visit, and the answer in place of a page."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Final, Generic, TypeVar
from urllib.parse import parse_qs

from shared.domain.accounts import Scope
from shared.domain.people import Person, Role
from shared.frozen import dataclass
from shared.web.http import Answer, Request

TOP: Final = "console"
"""The first part of every path."""
FORM: Final = "application/x-www-form-urlencoded"
MAX_FIELDS: Final = 100


@dataclass(eq=False)
class Denial(Exception):
    """An answer that the console shows instead of the page.

    Attributes:
        status: of HTTP.
        title: of the page.
        text: what to do, a sentence or two.
        code: names the reason in the log; empty: the status says it.
    """

    status: int
    title: str
    text: str
    code: str = ""


def absent(what: str) -> Denial:
    """Return the refusal of something that is not there, or is another account's."""
    return Denial(404, f"There is no such {what}", "Check the address, or look for it in the lists.")


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who visits. `name`: the id of the session, which its forms' tokens are made of."""

    name: str
    person: Person


@dataclass(frozen=True, slots=True)
class Pause:
    """That an account sends nothing until an operator changes that.

    Attributes:
        suspended: an operator suspended the account, else paused it.
        reason: of a pause, as the operator typed it.
        since: Unix milliseconds; 0: not known.
    """

    suspended: bool
    reason: str = ""
    since: int = 0


S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class PageCall(Generic[S]):
    """One visit of a page.

    Attributes:
        request: as it came.
        services: the console's.
        path: the path's parameters.
        visitor: who visits; None on a public page.
        role: what they may do in the account that the path names.
        form: fields of a posted form; of a repeated one the last.
        account_name: of the account that the path names, as people know it.
        pause: of that account; None: it sends.
        leaves_at: from when on that account may be deleted, Unix milliseconds; 0: that is not planned.
        file: that a form brings; empty: none.
    """

    request: Request
    services: S
    path: Mapping[str, str]
    visitor: SignedIn | None = None
    role: Role | None = None
    form: Mapping[str, str] = field(default_factory=dict)
    account_name: str = ""
    pause: Pause | None = None
    leaves_at: int = 0
    file: bytes = b""

    @property
    def account(self) -> str:
        """The account that the path names."""
        return self.path["account"]

    @property
    def who(self) -> SignedIn:
        """The visitor of a page that is not public."""
        if self.visitor is None:
            raise LookupError("this page is public")
        return self.visitor

    @property
    def actor(self) -> str:
        """The visitor of a page that is not public, as the audit log names them."""
        return self.who.person.user.actor

    def may(self, scope: Scope) -> bool:
        """Tell whether the visitor may do something in the account."""
        return self.role is not None and scope in self.role.scopes

    @property
    def home(self) -> str:
        """The folder of all other pages, relative to this one: it works wherever the API's address leads."""
        return home_of(self.request)

    @property
    def top(self) -> str:
        """The first page, relative to this one. It has no slash at its end: API Gateway takes that for another path."""
        return f"{self.home}../{TOP}"


@dataclass(frozen=True, slots=True)
class PageRoute:
    """One page, or one thing that a page's form does.

    Attributes:
        method: of HTTP; what is posted has the token of its session.
        path: template, with parameters in braces; one named `account` is an account that the visitor knows.
        name: unique; it names the visit in the log.
        handler: what answers.
        scope: what the visitor's role must include, in the account of the path.
        public: no session is needed, and no form's token is asked for.
        operators: only for operators; it does not exist for others.
        key_admins: of these only for those who may change what lets somebody in.
        file: what is posted is a form with a file.
        ends: what is posted stops or deletes something, or only looks: members of a suspended account may also do so.
    """

    method: str
    path: str
    name: str
    handler: Callable[[PageCall[Any]], Answer]
    scope: Scope = Scope.READ
    public: bool = False
    operators: bool = False
    ends: bool = False
    key_admins: bool = False
    file: bool = False


def home_of(request: Request) -> str:
    """Return the folder of the console's pages relative to the address of a request, with a slash at its end."""
    depth = len(request.segments) - 1 + request.slash
    return f"{TOP}/" if depth < 1 else "../" * (depth - 1) or "./"


def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a posted form.

    Raises:
        Denial: it is no form.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Denial(415, "This is no form", "Use the buttons of the console's own pages.")
    try:
        fields = parse_qs(request.body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise Denial(400, "This form cannot be read", "Go back, and send it again.") from None
    return {name: values[-1] for name, values in fields.items()}


def leave_for(call: PageCall[Any], path: str) -> Answer:
    """Return an answer that sends a browser to another page, to read.

    Args:
        look: the visit, of a page of an account.
        path: of the page, below the account.
    """
    return redirect(f"{call.home}{call.account}/{path}")


def redirect(to: str, *cookies: str) -> Answer:
    """Return an answer that sends a browser elsewhere, to read.

    Args:
        to: an address, relative to the request's or absolute.
        cookies: values of `Set-Cookie`.
    """
    return Answer(303, "", {"Location": to}, "text/plain; charset=utf-8", cookies=cookies)
