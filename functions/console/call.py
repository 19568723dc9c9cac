"""The arguments of a page: the visit, and the console's services."""

from functions.console.screen import PageCall
from functions.console.services import ConsoleServices

ConsoleCall = PageCall[ConsoleServices]
"""One visit of a page."""
