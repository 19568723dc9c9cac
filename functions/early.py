"""Objects that a function makes before its first event.

In the init phase Lambda gives a function a whole processor, afterwards its share by memory: 0.29 at 512 MB. So clients
and use cases are made there. Source: Lambda Developer Guide, "Lambda execution environment".
"""

import gc
import os
from collections.abc import Callable
from typing import Final

from shared.contracts import ON_LAMBDA

GARBAGE: Final = (50_000, 20, 50)
"""Python's thresholds from then on. A list of a million rows is read in 100 MB with these and with its own."""


def early(*makers: Callable[[], object]) -> None:
    """End the start. In a function's init phase makers are called now, elsewhere the first event calls them.

    Makers connect to nothing.
    """
    if ON_LAMBDA in os.environ:
        for make in makers:
            make()
        gc.freeze()
    gc.set_threshold(*GARBAGE)
