"""What tests of the console begin with: a console without a job, or one in which something happened, in a browser."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.console.console import Console, build_console
from tests.console.examples import Example, build_example, repeatable
from tests.console.site import enter, site
from tests.fakes.browser import Browser, browsing
from tests.fakes.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def console(moto_dynamo: Any, clock: FakeClock) -> Console:
    return build_console(moto_dynamo, clock)


@pytest.fixture(scope="module")
def example(moto_dynamo: Any) -> Example:
    """A deployment in which something happened, with an operator signed in; the tests of a module share it."""
    with repeatable():
        return build_example(moto_dynamo, days=(3,))


@pytest.fixture(scope="module")
def address(example: Example) -> Iterator[str]:
    """The address of the example's console."""
    with site(example.console) as found:
        yield found


@pytest.fixture(scope="module")
def browser(example: Example, address: str) -> Iterator[Browser]:
    """A browser with the operator's session."""
    with browsing(scripts=True) as opened:
        enter(opened, example.console, address)
        yield opened
