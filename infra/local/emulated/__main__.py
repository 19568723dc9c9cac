"""`python -m infra.local.emulated`: the emulator, with what this project adds to it."""

from ministack import app

from infra.local.emulated import requests, rights, sources
from infra.local.paths import paths

if __name__ == "__main__":
    rights.install()
    sources.install()
    app.app = requests.recorded(app.app, paths().requests)
    app.main()
