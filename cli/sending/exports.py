"""`posthaste batch|campaign export`: every message as a row of a CSV file, asked for, waited for and fetched."""

from pathlib import Path

from cli.client import ApiClient
from cli.errors import Failed, Misused
from cli.output import Surroundings, counted, emit, say
from cli.progress.meters import first_words, meter, size_of
from cli.progress.polling import asked
from cli.progress.transfer import download


def fetch(api: ApiClient, around: Surroundings, *, path: str, target: Path, json: bool) -> None:
    """Have the export of a job or campaign made, and store it.

    Args:
        api: where it is asked for.
        around: the time, and whether somebody looks.
        target: the file; one of that name is replaced when the new one is complete.
        json: print a document instead of a line, and no progress.

    Raises:
        CommandError: there is nothing to export, it cannot be fetched, or the file cannot be written.
    """
    terminal = around.terminal and not json
    with meter("making the file", terminal=terminal, quiet=json) as shown:
        for found in asked(lambda: api.get(path), around.clock):
            if found.get("state") != "preparing":
                break
            shown(float(found.get("progress") or 0.0), first_words(found))
        if found.get("state") != "ready":
            raise Failed("the answer is not an export: does POSTHASTE_URL name a Posthaste API?")
        messages = counted(int(found.get("rows") or 0), "message")
        shown(1.0, messages)
    with meter(f"fetching {target.name}", terminal=terminal, quiet=json) as shown:
        download(
            found.get("url"),
            target,
            around.clock,
            lambda done, size: shown(done / size if size else 0.0, f"of {size_of(size)}"),
        )
    if json:
        emit({"file": str(target), "rows": found.get("rows"), "as_of": found.get("as_of")})
    else:
        say(f"{target}: {messages}, as of {found.get('as_of')}")


def place(out: Path | None, kind: str, name: str, *, replace: bool) -> Path:
    """Return the file that an export is written to. Raises Misused if it exists and is not to be replaced.

    Args:
        out: the file that the user named; None for a name made of the other two.
        kind: what is exported, as in `campaign`.
        name: the id of what is exported.
        replace: whether an existing file may be replaced.
    """
    target = out or Path(f"{kind}-{name.replace('/', '_')}.csv")
    if target.is_dir():
        raise Misused(f"{target} is a folder: name a file")
    if target.exists() and not replace:
        raise Misused(f"{target} exists: choose another with --out, or add --force to replace it")
    return target
