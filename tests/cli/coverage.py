"""Which command calls each operation of the API, or why none does."""

import re
from collections.abc import Iterable
from typing import Final

from functions.api.operations import ROUTES

BY_JOB: Final = "commands name what people made: `batch` and `campaign` do the same to its jobs"
IN_TABLE: Final = "an operator's command does the same straight in the deployment's table"
LISTENS: Final = "`hook listen` runs until it is stopped; tests/cli/test_hooks.py runs it"
SYNCS: Final = "`notifier sync` calls it when there is something to exchange; tests/cli/notifier runs it"
RECIPIENTS: Final = "the recipient of a mail calls it by a link"
MACHINES: Final = "programs and browsers read it as it is"

COVERED: Final[dict[str, tuple[str, ...] | str]] = {
    "createBatch": ("batch", "send"),
    "listBatches": ("batch", "list"),
    "getBatch": ("batch", "show"),
    "stopBatch": ("batch", "stop"),
    "retryBatch": ("batch", "retry"),
    "resumeBatch": ("batch", "resume"),
    "listBatchLogs": ("batch", "logs"),
    "getBatchLog": "`message` asks the job, for messages of every kind",
    "listJobLogs": BY_JOB,
    "getJobLog": ("message",),
    "createCampaign": ("campaign", "run"),
    "listCampaigns": ("campaign", "list"),
    "getCampaign": ("campaign", "show"),
    "changeCampaign": ("campaign", "update"),
    "putCampaignTemplate": ("campaign", "update", "--subject", "Dear {{ name }}"),
    "deleteCampaign": ("campaign", "delete"),
    "createUpload": ("campaign", "run"),
    "completeUpload": ("campaign", "run"),
    "getUpload": ("campaign", "run"),
    "deleteUpload": ("campaign", "delete"),
    "putRecipients": "`campaign run` uploads a file of any size",
    "previewCampaign": ("campaign", "preview"),
    "testCampaign": ("campaign", "test"),
    "sendCampaign": ("campaign", "send"),
    "getCampaignStats": ("campaign", "stats"),
    "listCampaignMessages": ("campaign", "logs"),
    "stopCampaign": ("campaign", "stop"),
    "retryCampaign": ("campaign", "retry"),
    "resumeCampaign": ("campaign", "resume"),
    "listApprovals": ("campaign", "waiting"),
    "approveCampaign": ("campaign", "approve"),
    "refuseCampaign": ("campaign", "refuse"),
    "getApprovalLimit": ("approval-limit", "show"),
    "putApprovalLimit": ("approval-limit", "set"),
    "approveApprovalLimit": ("approval-limit", "approve"),
    "refuseApprovalLimit": ("approval-limit", "refuse"),
    "overrideBounceGuard": ("campaign", "override-bounce-guard"),
    "overrideBatchBounceGuard": ("batch", "override-bounce-guard"),
    "createTemplate": ("template", "put"),
    "listTemplates": ("template", "list"),
    "getTemplate": ("template", "show"),
    "listTemplateVersions": ("template", "versions"),
    "putTemplate": ("template", "put", "--id", "TEMPLATE"),
    "deleteTemplate": ("template", "delete"),
    "listJobs": BY_JOB,
    "getJob": BY_JOB,
    "stopJob": BY_JOB,
    "retryJob": BY_JOB,
    "resumeJob": BY_JOB,
    "exportBatch": ("batch", "export"),
    "exportJob": BY_JOB,
    "exportCampaign": ("campaign", "export"),
    "listSchedules": ("schedule", "list"),
    "deleteSchedule": ("schedule", "cancel"),
    "postEvents": ("event", "send"),
    "listDigests": ("digest", "list"),
    "getDigest": ("digest", "show"),
    "closeDigest": ("digest", "close"),
    "cancelDigest": ("digest", "cancel"),
    "listDigestPolicies": ("digest", "policy", "list"),
    "previewDigestPolicy": ("digest", "policy", "preview"),
    "getDigestPolicy": ("digest", "policy", "show"),
    "putDigestPolicy": ("digest", "policy", "set"),
    "deleteDigestPolicy": ("digest", "policy", "delete"),
    "postMail": ("mail", "send"),
    "listMails": ("mail", "list"),
    "createMail": "`mail send` calls it for a mail that one request cannot carry; tests/cli/test_mails.py runs it",
    "getMail": ("mail", "show"),
    "commitMail": "as createMail",
    "dropDestination": ("mail", "drop"),
    "rescheduleDestination": ("mail", "reschedule"),
    "createHookListener": LISTENS,
    "getPendingDeliveries": LISTENS,
    "endPendingDelivery": LISTENS,
    "createHook": ("hook", "create"),
    "listHooks": ("hook", "list"),
    "getHook": ("hook", "show"),
    "changeHook": ("hook", "update"),
    "rotateHook": ("hook", "rotate"),
    "testHook": ("hook", "test"),
    "deleteHook": ("hook", "delete"),
    "listHookDeliveries": ("hook", "deliveries"),
    "getHookDelivery": ("hook", "delivery"),
    "retryHookDelivery": ("hook", "retry"),
    "replayHook": ("hook", "replay"),
    "putMessages": SYNCS,
    "createNotifier": IN_TABLE,
    "listNotifiers": IN_TABLE,
    "getNotifier": IN_TABLE,
    "changeNotifier": IN_TABLE,
    "rotateNotifier": IN_TABLE,
    "getNotifierStats": IN_TABLE,
    "deleteNotifier": IN_TABLE,
    "getMessage": "a notifier's own machine has its messages: `notifier spool list`",
    "listMessageUpdates": SYNCS,
    "createProgram": ("program", "put"),
    "listPrograms": ("program", "list"),
    "getProgram": ("program", "show"),
    "putProgram": ("program", "put"),
    "deleteProgram": ("program", "delete"),
    "getStats": ("stats",),
    "getQuota": ("quota",),
    "listSuppressions": ("suppression", "list"),
    "getSuppression": ("suppression", "show"),
    "putSuppression": ("suppression", "add"),
    "deleteSuppression": ("suppression", "remove"),
    "listTexts": ("text", "list"),
    "showUnsubscription": RECIPIENTS,
    "unsubscribe": RECIPIENTS,
    "undoUnsubscription": RECIPIENTS,
    "listCredentials": ("credential", "list"),
    "listAudit": ("audit", "--mine"),
    "listGuests": ("guest", "list"),
    "getGuest": "`guest list` shows all guests",
    "putGuest": ("guest", "add"),
    "deleteGuest": ("guest", "remove"),
    "listSenders": ("domain", "list"),
    "createSender": ("domain", "add"),
    "getSender": ("domain", "show"),
    "verifySender": ("domain", "verify"),
    "deleteSender": ("domain", "remove"),
    **dict.fromkeys(
        (
            "sendMailAsSendGrid",
            *("sendEmailAsPostmark", "sendBatchAsPostmark", "sendEmailAsResend", "sendBatchAsResend"),
        ),
        "programs that were written for another service call it; `batch send` sends the same",
    ),
    **dict.fromkeys(
        (
            *("listBouncesAsSendGrid", "deleteBounceAsSendGrid"),
            *("listUnsubscribesAsSendGrid", "deleteUnsubscribeAsSendGrid"),
        ),
        "programs that were written for another service call it; `suppression` has the same lists",
    ),
    "createAccessToken": "libraries for OAuth ask it; the command has its key in a keyring",
    "getHealth": "monitors ask it; `doctor` looks deeper",
    "getOpenapi": MACHINES,
    "getDocs": MACHINES,
    "getErrors": MACHINES,
}
"""Operation → the command that calls it, with the options that it needs for that; or why there is none."""
_PATHS: Final = [(x.method, re.compile(re.sub(r"\{[^}]+\}", "[^/]+", x.path)), x) for x in ROUTES]


def operations(called: Iterable[tuple[str, str]]) -> set[str]:
    """Return the names of the operations that were called; `called`: methods and paths."""
    return {name for method, path in called for name in _operation(method, path)}


def _operation(method: str, path: str) -> list[str]:
    found = [x for verb, pattern, x in _PATHS if verb == method and pattern.fullmatch(path)]
    return [min(found, key=lambda x: x.path.count("{")).name] if found else []
