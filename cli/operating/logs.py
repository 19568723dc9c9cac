"""`posthaste logs`: what the deployment's functions logged, oldest first, on AWS and on the local cloud.

Sources (docs.aws.amazon.com):

- logs UserGuide FilterAndPatternSyntax (a quoted term matches lines that contain it)
- lambda dg monitoring-cloudwatchlogs (platform events)
"""

import json as codec
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Annotated, Any, Final

import typer

from cli.deployment import Aws, Stage
from cli.errors import Misused
from cli.operating.door import OperatorClient, door
from cli.output import Json, emit, say, surroundings, tell
from cli.spans import seconds_of
from shared.ports import Clock

LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
POLL: Final = 2.0
"""Seconds between two looks with --follow."""
OVERLAP_MS: Final = 30_000
"""Milliseconds that each look goes back: lines of different functions arrive late and out of order."""
WORKERS: Final = 5
"""Requests at once, for groups that have more lines than one request brings."""
UNSHOWN: Final = frozenset(
    {"timestamp", "level", "service", "message", "location", "correlation_id", "cold_start", "function_name",
     "function_memory_size", "function_arn", "function_request_id", "xray_trace_id", "sampling_rate"}
)  # fmt: skip
"""Fields that are shown in a place of their own, or tell of Lambda."""
_TEST: Final = re.compile(r"([A-Za-z_@][\w.@]*)(!=|>=|<=|=|>|<)(.*)")
_COMPARE: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}

Line = dict[str, Any]
"""A line's fields; `@log` and `@at`: its log group and Unix milliseconds. A line that is no JSON has only `message`."""


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which lines are wanted. `terms`: all are part of the line, and CloudWatch looks for the first of them."""

    terms: Sequence[str]
    services: Sequence[str]
    level: str
    tests: Sequence[tuple[str, str, str]]

    @property
    def pattern(self) -> str:
        """The filter pattern that CloudWatch applies; the rest is filtered here."""
        if self.terms:
            return f'"{self.terms[0]}"'
        if len(self.services) == 1 and "*" not in self.services[0]:
            return f'{{ $.service = "{self.services[0]}" }}'
        return ""

    def takes(self, text: str, line: Line) -> bool:
        """Tell whether a line is wanted."""
        if not all(term in text for term in self.terms):
            return False
        service = str(line.get("service", ""))
        if self.services and not any(fnmatchcase(service, x) for x in self.services):
            return False
        if self.level and _rank(line) < LEVELS.index(self.level):
            return False
        return all(_holds(_at(line, name), sign, value) for name, sign, value in self.tests)


def logs(
    ctx: typer.Context,
    *,
    job: Annotated[str, typer.Option(metavar="ID", help="Only lines about this job, campaign, upload or export.")] = "",
    request: Annotated[str, typer.Option(metavar="ID", help="Only lines about this request: its X-Request-Id.")] = "",
    service: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only of this function, e.g. api or 'send-*'. Repeatable.")
    ] = None,
    level: Annotated[str, typer.Option(metavar="LEVEL", help="Only of this level or above, e.g. WARNING.")] = "",
    match: Annotated[str, typer.Option(metavar="TEXT", help="Only lines that contain this text.")] = "",
    where: Annotated[
        list[str] | None, typer.Option(metavar="FIELD=VALUE", help="Also !=, >=, <=, > and <. Repeatable.")
    ] = None,
    since: Annotated[str, typer.Option(metavar="SPAN", help="How far back: 90s, 30m, 4h, 2d.")] = "30m",
    limit: Annotated[int, typer.Option(min=1, max=10_000, metavar="N", help="The newest N lines.")] = 200,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep showing new lines.")] = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Show what the functions logged, oldest first: time, function, level, message, fields. --json: a line each."""
    wanted = _wanted((job, request, match), service or (), level.upper(), where or ())
    clock = surroundings(ctx).clock
    show = emit if json else _show
    with door(ctx, stage, aws=aws) as (client, _):
        reader = _Reader(client, wanted)
        begin = int((clock.now() - seconds_of(since, "--since")) * 1000)
        lines = sorted(reader.read(begin), key=lambda line: line["@at"])
        for line in lines[-limit:]:
            show(line)
        if len(lines) > limit:
            tell(f"{len(lines) - limit:,} older lines are not shown: --limit shows more")
        if not lines and not follow:
            tell(f"no such lines within {since}")
        if follow:
            _follow(reader, begin, clock, show)


def _wanted(terms: Sequence[str], services: Sequence[str], level: str, tests: Sequence[str]) -> LogFilter:
    """Return the filter that options describe.

    Raises:
        Misused: they describe none.
    """
    named = [x for x in terms if x]
    if any('"' in x for x in (*named, *services)):
        raise Misused("a text to search for must not contain quotation marks")
    if level and level not in LEVELS:
        raise Misused(f"--level takes {', '.join(LEVELS)}")
    return LogFilter(named, services, level, [_test(x) for x in tests])


def _follow(reader: "_Reader", begin: int, clock: Clock, show: Callable[[Line], None]) -> None:
    """Show new lines until the command is interrupted."""
    while True:
        clock.sleep(POLL)
        for line in sorted(reader.read(_from(reader, begin, clock)), key=lambda line: line["@at"]):
            show(line)


def _from(reader: "_Reader", begin: int, clock: Clock) -> int:
    return max(begin, (reader.newest or int(clock.now() * 1000)) - OVERLAP_MS)


class _Reader:
    """Reads what the functions logged; each line once. `newest`: Unix milliseconds of the newest line that it read."""

    def __init__(self, client: OperatorClient, wanted: LogFilter) -> None:
        self._client = client
        self._wanted = wanted
        self._seen: dict[str, int] = {}
        self.newest = 0

    def read(self, begin: int) -> list[Line]:
        """Return the wanted lines from `begin` on, Unix milliseconds, that were not returned before."""
        out = []
        for row in self._rows(begin):
            line = {"@log": row["group"], "@at": row["at"], **_fields(row["text"])}
            if row["id"] not in self._seen and self._wanted.takes(row["text"], line):
                self._seen[row["id"]] = line["@at"]
                self.newest = max(self.newest, line["@at"])
                out.append(line)
        self._seen = {x: at for x, at in self._seen.items() if at >= begin - OVERLAP_MS}
        return out

    def _rows(self, begin: int) -> list[Line]:
        """Return lines as operators read them, of all groups."""
        rows: list[Line] = []
        asked = {"begin": str(begin), **({"pattern": self._wanted.pattern} if self._wanted.pattern else {})}
        places: list[Mapping[str, str]] = [{}]
        with ThreadPoolExecutor(max_workers=WORKERS) as pool:
            while places:
                pages = list(pool.map(lambda place: self._client.get("/logs", {**asked, **place}), places))
                rows += [row for page in pages for row in page["items"]]
                places = [{k: v for k, v in x.items() if v} for page in pages for x in page["unfinished"]]
        return rows


def _fields(text: str) -> Line:
    try:
        found = codec.loads(text)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"message": text.rstrip()}


def _rank(line: Line) -> int:
    """Return a line's level; what Lambda itself says of a failed invocation counts as an error."""
    level = str(line.get("level", "")).upper()
    if level in LEVELS:
        return LEVELS.index(level)
    failed = _at(line, "record.status") not in (None, "success")
    return LEVELS.index("ERROR" if failed else "INFO")


def _at(line: Line, path: str) -> Any:
    """Return the value at a dotted path; None if there is none."""
    found: Any = line
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _test(text: str) -> tuple[str, str, str]:
    found = _TEST.fullmatch(text)
    if found is None:
        raise Misused("--where takes FIELD=VALUE, also with !=, >=, <=, > or <")
    name, sign, value = found.groups()
    if sign in _COMPARE and not _is_number(value):
        raise Misused(f"--where {name}{sign} takes a number")
    return name, sign, value


def _holds(found: Any, sign: str, value: str) -> bool:
    if sign in _COMPARE:
        return _is_number(found) and _COMPARE[sign](float(found), float(value))
    text = codec.dumps(found) if isinstance(found, bool | dict | list) else str(found)
    return fnmatchcase(text, value) == (sign == "=") and (found is not None or sign == "!=")


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _show(line: Line) -> None:
    """Print a line for people: local time, function, level, message, the other fields."""
    at = datetime.fromtimestamp(line["@at"] / 1000).astimezone()
    name = str(line.get("service") or line["@log"].rpartition("/")[2])
    rest = [
        f"{key}={value if isinstance(value, str) else codec.dumps(value)}"
        for key, value in line.items()
        if key not in UNSHOWN and not key.startswith("@") and value not in (None, "", [], {})
    ]
    about = line.get("correlation_id")
    parts = [str(line.get("message") or line.get("type") or ""), *([f"[{about}]"] if about else []), *rest]
    say(f"{at:%H:%M:%S} {name:<20} {line.get('level', ''):<7} {' '.join(parts)}")
