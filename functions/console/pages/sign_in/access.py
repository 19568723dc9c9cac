"""The people who may sign in, and the operators among them, by the settings of now.

A sign-in stores the name in the settings that let a person in. Each page compares it with the settings again: a name
that an operator removes ends its sessions with the deploy, not with their last hour.
"""

from functions.console.call import ConsoleCall
from functions.console.screen import Denial
from shared.domain.people import Identity, User, is_login, key_admins, let_in, operators


def admitted(call: ConsoleCall, identity: Identity) -> User:
    """Return the user that somebody is, if they may sign in.

    A login that the settings name belongs to the first person who signs in by it.

    Raises:
        Denial: they may not.
    """
    services, may = call.services, let_in(call.services.console)
    named = is_login(identity.login) and may.holds(identity.login.lower())
    owns = named and services.people.owns_login(identity)
    by = identity.granted_by(may, owns_login=owns)
    if not by:
        raise _taken(identity) if named else _unknown(identity)
    roles = (key_admins(services.console), operators(services.console))  # of two names, the one that grants more
    role = next(filter(None, (identity.granted_by(x, owns_login=owns) for x in roles)), "")
    return services.people.signed_in(identity, let_in=by, operator=role)


def _unknown(identity: Identity) -> Denial:
    said = f"Ask an operator of this deployment to allow {identity.login}, or one of your organizations."
    return Denial(403, "You may not use this console", said, "not_allowed")


def _taken(identity: Identity) -> Denial:
    said = (
        f"Another person has used the login {identity.login} here. If it is yours now, ask an operator: "
        f"posthaste member release {identity.login}"
    )
    return Denial(403, "This login is another person's here", said, "login_taken")
