"""Accounts, as operators name them."""

from functions.operate.services import OperateServices
from shared.domain.accounts import is_account_id
from shared.web.problems import Problem, invalid


def resolve(services: OperateServices, text: str) -> str:
    """Return the id of an account from its id or its name.

    Raises:
        Problem: not_found; validation_failed, if several accounts have that name.
    """
    if is_account_id(text):
        named = [text] if services.accounts.get(text) is not None else []
    else:
        named = [a.id for a in services.accounts.list_accounts() if a.name == text]
    if not named:
        raise Problem("not_found", f"No account {text}: see `posthaste account list`.")
    if len(named) > 1:
        raise invalid("account", f"{len(named)} accounts have that name: use an id, one of {', '.join(named)}.")
    return named[0]
