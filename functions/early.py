"""Objects that a function makes before its first event.

In the init phase Lambda gives a function a whole processor, afterwards its share by memory: 0.29 at 512 MB. So clients
and use cases are made there. Source: Lambda Developer Guide, "Lambda execution environment".
"""

import os
from collections.abc import Callable
from typing import Final

ON_LAMBDA: Final = "AWS_LAMBDA_FUNCTION_NAME"
"""Set by Lambda before the handler's module is imported."""


def early(*makers: Callable[[], object]) -> None:
    """Call makers now if this is a function's init phase; elsewhere the first event does. They connect to nothing."""
    if ON_LAMBDA in os.environ:
        for make in makers:
            make()
