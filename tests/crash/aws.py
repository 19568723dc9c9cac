"""`python -m tests.crash.aws FD`: moto as a server of its own, on a listening socket that it inherits."""

import sys

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

import quick_moto


def main(listener: int) -> None:
    """Serve until killed."""
    quick_moto.install()
    app = DomainDispatcherApplication(create_backend_app)
    make_server("127.0.0.1", 0, app, threaded=True, request_handler=MotoRequestHandler, fd=listener).serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]))
