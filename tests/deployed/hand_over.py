"""Hands a command over to `tests.deployed.forked`, and waits for its end: `hand_over.py SOCKET NAME TRUE… -- WORDS…`.

This imports little, since each command waits for it. A signal goes to the command, as it would without this process.
"""

import json
import os
import signal
import socket
import sys
from typing import Final

FORWARDED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
END: Final = "--"
"""Between the words that start the command in a process of its own, and those that are typed after its name."""


def main(door: str, name: str, *words: str) -> int:
    """Hand a command over; return its exit code.

    Args:
        door: the path of the socket.
        name: the command's.
        words: how it starts in a process of its own, and what follows its name.
    """
    place = words.index(END)
    true, typed = words[:place], words[place + 1 :]
    request = {
        "name": name,
        "words": typed,
        "folder": os.getcwd(),  # noqa: PTH109 - pathlib is slow to import
        "environment": dict(os.environ),
    }
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(door)
        text = json.dumps(request).encode()
        socket.send_fds(caller, [len(text).to_bytes(4, "big")], [0, 1, 2])
        caller.sendall(text)
        with caller.makefile("r") as answers:
            pid = int(answers.readline())
            if not pid:
                os.execv(true[0], [*true, *typed])  # noqa: S606 - as a shell does
            for number in FORWARDED:
                signal.signal(number, lambda number, _: os.kill(pid, number))
            code = int(answers.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
