"""The start of moto and the making of clients, without the work that is the same each time.

A test that begins with moto makes a session and clients anew. Each time moto makes nine thousand patterns of addresses.
Botocore reads the description of each service, and looks through its renamed services for the name of each event. It
inspects each handler's parameters, and writes a method for each operation of a service. Here each of these is done once
in a process.
"""

import copy
import inspect
from functools import lru_cache
from typing import Any, Final

from botocore import hooks
from botocore.client import ClientCreator
from botocore.loaders import Loader
from moto.core import models

_HOOKS: Final[Any] = hooks
_MOTO: Final[Any] = models
_CREATOR: Final[Any] = ClientCreator
_LOADER: Final[Any] = Loader
ENABLE: Final = _MOTO.MockAWS._enable_patching
ALIASER: Final = _HOOKS.EventAliaser.__init__
METHODS: Final = _CREATOR._create_methods
ACCEPTS: Final = _HOOKS.accepts_kwargs
_names: Final[dict[str, str]] = {}
"""Event → its name with the services' present names."""
_patterns: Final[dict[str, list[Any]]] = {}
"""Method of HTTP → what moto answers."""
_methods: Final[dict[tuple[str, str], dict[str, Any]]] = {}
"""Service and version of its API → the methods of its clients."""
_loaded: Final[dict[tuple[str, ...], dict[Any, Any]]] = {}
"""Folders of descriptions → what loaders keep of them: each question to a loader, with its answer."""


def install() -> None:
    """Have sessions and clients spare these costs in this process; a repeat changes nothing."""
    _MOTO.MockAWS._enable_patching = _enable
    _HOOKS.EventAliaser.__init__ = _begun
    _HOOKS.EventAliaser.__copy__ = _copied
    _HOOKS.accepts_kwargs = _accepts
    _CREATOR._create_methods = _written
    _LOADER._cache = property(_kept, lambda _self, _empty: None)


def _enable(self: Any, *, reset: bool = True) -> None:
    if not _patterns:
        ENABLE(self, reset)
        _patterns.update({method: [*held] for method, held in _MOTO.responses_mock._registry._registered.items()})
        return
    _MOTO.botocore_stubber.enabled = True
    if reset:
        self.reset()
    _MOTO.responses_mock.start()
    for method, held in _patterns.items():
        _MOTO.responses_mock._registry._registered[method].extend(held)


def _begun(self: Any, emitter: Any, aliases: Any = None) -> None:
    ALIASER(self, emitter, aliases)
    if aliases is None:
        self._alias_name_cache = _names


def _copied(self: Any) -> Any:
    copied = _HOOKS.EventAliaser(copy.copy(self._emitter), self._event_aliases)
    copied._alias_name_cache = self._alias_name_cache
    return copied


def _written(self: Any, service: Any) -> dict[str, Any]:
    place = service.service_name, service.api_version
    if place not in _methods:
        _methods[place] = METHODS(self, service)
    return {**_methods[place]}


def _kept(self: Any) -> dict[Any, Any]:
    """Return what loaders of the same folders keep; a session adds a folder after it has made its loader."""
    return _loaded.setdefault(tuple(self.search_paths), {})


def _accepts(handler: Any) -> Any:
    plain = getattr(handler, "__func__", handler)
    return _inspected(plain) if inspect.isfunction(plain) else ACCEPTS(handler)


@lru_cache(4096)
def _inspected(function: Any) -> Any:
    return ACCEPTS(function)
