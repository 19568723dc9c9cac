"""Keys of mails in the table `records`, and the access patterns they serve.

| pattern | key |
|---|---|
| a mail | `Z#mail / MAIL` |
| an account's mails, newest first (index `mine`) | `account#mails` / `created_at#mail` |
"""

from typing import Final

from shared.adapters.dynamo.keys import Key, key

KIND: Final = "mails"
"""Of mails in the index `mine`; `mail` is that of their jobs."""


def mail(name: str) -> Key:
    return key(f"Z#{name}", "MAIL")
