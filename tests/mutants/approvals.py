"""Sabotages of approvals: a list that leaves alone, or other than it was shown."""

from typing import Final

from tests.mutants.mutant import Mutant

ENGINE: Final = "shared/engine/campaigns/campaigns.py"
RULES: Final = "shared/engine/campaigns/approving.py"
DOMAIN: Final = "shared/domain/campaigns/approval.py"
CAMPAIGN: Final = "shared/domain/campaigns/campaign.py"
API: Final = "tests/api/test_approvals.py"
ATTACK: Final = "tests/attacks/test_an_approval_by_the_one_who_asked.py"
STORE: Final = "tests/contracts/test_approvals.py"

APPROVALS: Final = (
    Mutant(
        "a list that waits is sent",
        14,
        ENGINE,
        "        if policy.holds(rows, now):\n            return self._ask(",
        "        if policy.holds(-rows, now):\n            return self._ask(",
        f"{ATTACK}::test_in_many_small_lists",
    ),
    Mutant(
        "the one who asked approves",
        14,
        RULES,
        "        if self._kinship.related(campaign.account, asked.who, who):\n",
        "        if self._kinship.related(campaign.account, asked.who, who) and not asked.who:\n",
        f"{ATTACK}::test_by_the_same_key",
    ),
    Mutant(
        "a key that replaced another approves its request",
        14,
        RULES,
        "        yield from self._keys.heirs(account)\n",
        "        yield from ()\n",
        f"{ATTACK}::test_by_the_key_that_replaced_it[True-400]",
    ),
    Mutant(
        "an alias approves",
        14,
        RULES,
        "        new = {x for a, b in every for x in (a, b) if {a, b} & found} - found\n",
        "        new = set()\n",
        f"{ATTACK}::test_by_two_aliases",
    ),
    Mutant(
        "a new request is approved by the id of the old one",
        14,
        RULES,
        "        if asked.id != name:\n            return Refused(Reason.APPROVAL_CHANGED)\n        if self",
        "        name = asked.id\n        if self",
        f"{ATTACK}::test_with_another_rate_or_time_behind_what_was_shown",
    ),
    Mutant(
        "an edit keeps the request",
        14,
        CAMPAIGN,
        '{"asked": None, "decided": None, **changes}',
        '{"asked": self.asked and replace(self.asked, version=self.version + 1), "decided": None, **changes}',
        f"{API}::test_any_change_takes_a_request_back[PATCH--body1]",
    ),
    Mutant(
        "a request of an earlier version counts",
        14,
        CAMPAIGN,
        "if self.asked is not None and self.asked.version == self.version else None",
        "if self.asked is not None else None",
        f"{STORE}::test_a_request_of_another_version_counts_no_more[dynamo]",
    ),
    Mutant(
        "a list is sent after its time",
        14,
        ENGINE,
        "    return Refused(Reason.APPROVAL_LAPSED) if asked.lapsed_at(now) else None\n",
        "    return None\n",
        f"{API}::test_a_scheduled_list_that_nobody_approves_does_not_leave_and_says_why",
    ),
    Mutant(
        "a looser limit counts at once",
        14,
        DOMAIN,
        "        return other.on and (not self.on or self.above > other.above)\n",
        "        return other.on and self.on and self.above > other.above\n",
        f"{API}::test_a_stricter_limit_counts_at_once_and_a_looser_one_needs_another",
    ),
    Mutant(
        "rows are counted as if nobody else sent",
        14,
        "shared/adapters/dynamo/campaigns/approvals.py",
        '    return {"TableName": table, "Item": _item(new), **unchanged(old if old.version else None)}\n',
        '    return {"TableName": table, "Item": _item(new)}\n',
        f"{STORE}::test_rows_are_counted_with_the_list_that_is_sent[dynamo]",
    ),
)
