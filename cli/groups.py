"""The commands of `posthaste --help`, grouped by what people do with them, each with the first sentences of its help.

The help shows these without loading a command. A test compares them with the commands.
"""

from collections.abc import Mapping
from typing import Final

GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "Begin": {
        "login": "Store the address and the API key of a Posthaste, for all commands. The key is asked for, "
        "or read from stdin.",
        "logout": "Forget the stored address and key. The key itself stays valid; an operator revokes it.",
        "whoami": "Show which API and which key commands use, and check that the API takes the key.",
    },
    "Send": {
        "batch": "Batches: one message, many recipients.",
        "campaign": "Campaigns: one message with placeholders, a list of any size.",
        "approval-limit": "From how many rows on the account's lists wait for approval.",
        "mail": "Mails: finished messages (RFC 5322), sent as they are.",
        "event": "Events: collected, and sent as digests.",
        "schedule": "Campaigns and batches that wait for their time.",
        "relay": "Take mail by SMTP and hand it to the API. A mail is answered with 250 only when the API, "
        "or the spool, has it.",
    },
    "See what became of it": {
        "message": "One message: `message ID` shows what happened to it, and `message find` looks for it.",
        "stats": "Show the results of the messages accepted on each day.",
        "quota": "Show the limits of a UTC day that operators have set for the account and the API key, and "
        "how much is used.",
        "text": "Texts that recipients wrote.",
        "hook": "Hooks: endpoints that events are posted to.",
    },
    "Prepare": {
        "template": "Templates: messages with placeholders, kept for campaigns.",
        "image": "Pictures of messages, which everybody can see by their addresses.",
        "program": "Programs: schedules of notices that notifiers copy.",
        "digest": "Digests: windows of events, and their policies.",
        "domain": "Domains that the account sends from, proven by DNS.",
        "suppression": "Addresses that get no messages, and people who have unsubscribed.",
        "guest": "Addresses that the account's team keys may send to.",
    },
    "Operate a deployment: accounts": {
        "account": "Accounts and their status.",
        "key": "API keys of an account.",
        "sender": "Addresses and domains an account may send from.",
        "member": "People who may use the console for an account.",
        "notifier": "Notifiers: machines that upload messages for later delivery.",
        "audit": "Show an audit log: of an account, or what operators did to the deployment as a whole "
        "(rates, pauses, queues).",
        "erase": "Erase a person's data in all accounts. You can repeat and interrupt it at any time.",
        "rehash": "Move stored hashes of addresses to the latest key. You can interrupt it at any time; repeat it to "
        "continue.",
        "restore": "Bring a stage back from copies of its tables' past; nothing is sent twice.",
    },
    "Operate a deployment: sending": {
        "job": "Jobs of all accounts: find and stop them, without an API key.",
        "pause": "Pause a credential, an account, or everything.",
        "resume": "End a pause. Waiting messages continue within seconds.",
        "credential": "Provider accounts, declared in cdk.json.",
        "rate": "Rates of credentials, up to what cdk.json declares.",
        "queue": "The stack's queues and their dead messages.",
        "redrive": "Show a queue's dead messages with time and reason, and process them again.",
    },
    "Operate a deployment: AWS": {
        "doctor": "Check the AWS account before a deploy, and the deployment after it. Each problem comes "
        "with a solution.",
        "logs": "Show what the functions logged, oldest first: time, function, level, message, fields. "
        "--json: a line each.",
    },
    "Try it on this machine": {
        "local": "The cloud on this machine: emulator, real deployment, simulated providers.",
    },
}
"""Titles, in the order of the help → commands → what the help says of them."""
TITLES: Final[Mapping[str, str]] = {name: title for title, names in GROUPS.items() for name in names}
HELP: Final[Mapping[str, str]] = {name: text for names in GROUPS.values() for name, text in names.items()}
