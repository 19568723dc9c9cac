"""The accounts that a person knows; who knows one alone goes straight there."""

from typing import Final

from functions.console.call import Look
from functions.console.screen import PageRoute, redirect
from shared.domain.people import Role
from shared.web.http import Answer


def accounts(look: Look) -> Answer:
    """Show the accounts, or the only one."""
    person = look.who.person
    services = look.services
    if person.user.operator:
        known = [(found, Role.ADMIN) for found in services.accounts.list_accounts()]
    else:
        pairs = [(services.accounts.get(m.account), m.role) for m in person.memberships]
        known = [(found, role) for found, role in pairs if found is not None]
    if len(known) == 1 and not person.user.operator:
        return redirect(look.home + known[0][0].id)
    return services.pages.page(look, "accounts/accounts.html", {"accounts": known})


ROUTES: Final = (PageRoute("GET", "/console", "accounts", accounts),)
