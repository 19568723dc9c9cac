"""`python -m simulator`: serve on loopback until SIGINT or SIGTERM, and print one JSON line when ready."""

import argparse
import asyncio
import gc
import json
import os
import secrets
import signal
import sys
from pathlib import Path
from typing import Any

import uvloop

from simulator.model import BadRequest
from simulator.registry import providers
from simulator.run import serve
from simulator.world import Options


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m simulator", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="shared port on 127.0.0.1; 0: any free one")
    parser.add_argument("--port-file", type=Path, help="also write the JSON line to this file")
    parser.add_argument("--seed", default="", help="of all chances and ids; random by default, and printed")
    parser.add_argument(
        "--webhook-url-template",
        default="",
        metavar="URL",
        help="webhook target of every credential, with {provider} and {credential_id}; see /_control to set it later",
    )
    parser.add_argument("--api-key", action="append", default=[], metavar="PROVIDER=KEY", help="accepted API key")
    parser.add_argument(
        "--key-file",
        action="append",
        default=[],
        metavar="PROVIDER=PATH",
        help="its signing key; made if missing",
    )
    parser.add_argument(
        "--key-folder",
        type=Path,
        metavar="PATH",
        help="folder of the signing keys of all other providers, PROVIDER.pem, so that a restart signs as before",
    )
    parser.add_argument(
        "--listen",
        action="append",
        default=[],
        metavar="PROVIDER/CREDENTIAL[=PORT]",
        help="give a credential a port of its own, so that it can refuse connections",
    )
    options = parser.parse_args(arguments)
    keys: dict[str, frozenset[str]] = {}
    for provider, key in _pairs(parser, options.api_key):
        keys[provider] = keys.get(provider, frozenset()) | {key}
    settings = Options(
        seed=options.seed or secrets.token_hex(8),
        webhook_url_template=options.webhook_url_template,
        keys=keys,
        key_files=_key_files(options.key_folder, _pairs(parser, options.key_file)),
    )
    listen = []
    for name in options.listen:
        credential, _, port = name.partition("=")
        provider, _, credential = credential.partition("/")
        if provider not in providers() or not credential or not (port or "0").isdecimal():
            parser.error(f"--listen {name}: PROVIDER/CREDENTIAL[=PORT]")
        listen.append((provider, credential, int(port or 0)))
    # A million log lines are long-lived objects: collecting less often keeps pauses out of the measured times.
    gc.set_threshold(100_000, 50, 100)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(settings, options.port, listen, options.port_file))
    except (BadRequest, OSError) as e:
        sys.exit(f"simulator: {e}")


async def _serve(settings: Options, port: int, listen: list[tuple[str, str, int]], port_file: Path | None) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)

    def ready(document: dict[str, Any]) -> None:
        line = json.dumps({**document, "pid": os.getpid()}) + "\n"
        if port_file is not None:
            part = port_file.with_name(port_file.name + ".part")
            part.write_text(line)
            part.replace(port_file)
        sys.stdout.write(line)
        sys.stdout.flush()

    await serve(settings, port=port, listen=listen, ready=ready, stop=stop)


def _key_files(folder: Path | None, files: list[tuple[str, str]]) -> dict[str, Path]:
    kept = {name: folder / f"{name}.pem" for name in providers()} if folder is not None else {}
    return kept | {provider: Path(path) for provider, path in files}


def _pairs(parser: argparse.ArgumentParser, values: list[str]) -> list[tuple[str, str]]:
    pairs = [tuple(value.partition("=")[::2]) for value in values]
    for provider, value in pairs:
        if provider not in providers() or not value:
            parser.error(f"{provider}={value}: expected PROVIDER=VALUE with one of {', '.join(providers())}")
    return [(provider, value) for provider, value in pairs]


if __name__ == "__main__":
    main()
