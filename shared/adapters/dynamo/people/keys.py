"""Keys of the table `people`, and the access patterns they serve.

| pattern | key |
|---|---|
| a user with all memberships | `U#user / PROFILE`, `U#user / M#account` |
| the user of an identity | `I#provider#subject / USER` |
| memberships that wait for a first sign-in | `L#provider#login / M#account` |
| the members of an account, and logins that are invited | `A#account / U#user`, `A#account / L#provider#login` |
| the person of a login that the settings name | `P#provider#login / PERSON` |
| a session | `S#sha256 / SESSION` |
| attempts to sign in, by network or by state | `R#sha256 / BUCKET` |

A login is lower-case in a key, and functions take it in any case of letters.
"""

from typing import Final

from shared.adapters.dynamo.keys import Key, key

MEMBER: Final = "M#"
USER: Final = "U#"
LOGIN: Final = "L#"


def user_pk(user: str) -> str:
    return f"{USER}{user}"


def profile(user: str) -> Key:
    return key(user_pk(user), "PROFILE")


def membership(user: str, account: str) -> Key:
    return key(user_pk(user), f"{MEMBER}{account}")


def account_pk(account: str) -> str:
    return f"A#{account}"


def member(account: str, user: str) -> Key:
    return key(account_pk(account), f"{USER}{user}")


def identity(provider: str, subject: str) -> Key:
    """The user of an identity.

    Args:
        subject: the provider's id of the person.
    """
    return key(f"I#{provider}#{subject}", "USER")


def waiting_pk(provider: str, login: str) -> str:
    return f"{LOGIN}{provider}#{login.lower()}"


def waiting(provider: str, login: str, account: str) -> Key:
    return key(waiting_pk(provider, login), f"{MEMBER}{account}")


def invited(account: str, provider: str, login: str) -> Key:
    return key(account_pk(account), waiting_pk(provider, login))


def pin(provider: str, login: str) -> Key:
    return key(f"P#{provider}#{login.lower()}", "PERSON")


def session(digest: str) -> Key:
    return key(f"S#{digest}", "SESSION")


def attempts(digest: str) -> Key:
    """The bucket of attempts to sign in, by the SHA-256 of a network or of a state, hex."""
    return key(f"R#{digest}", "BUCKET")
