"""`python -m tests.crash.aws FD`: moto as a server of its own, on a listening socket that it inherits."""

import sys
from typing import Final

from moto import backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

import quick_moto

SERVICES: Final = tuple(backends.list_of_moto_modules())
"""moto looks at its folders for them at each request."""


class Handler(MotoRequestHandler):
    """Keeps connections, as AWS does, and writes no log."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_request(self, *_: object) -> None:
        """Write nothing."""


def main(listener: int) -> None:
    """Serve until killed."""
    quick_moto.install()
    backends.list_of_moto_modules = lambda: SERVICES
    app = DomainDispatcherApplication(create_backend_app)
    make_server("127.0.0.1", 0, app, threaded=True, request_handler=Handler, fd=listener).serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]))
