from tests.api.conftest import api, clock, tables

__all__ = ["api", "clock", "tables"]
