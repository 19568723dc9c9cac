"""`ports.People` on DynamoDB: users, memberships and sessions in the table `people`.

A page costs two reads: the session, then its user with all memberships in one query.
"""

from typing import Final

from shared.adapters.dynamo.audit import puts
from shared.adapters.dynamo.client import Cancelled, Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s, text
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.people import keys
from shared.domain.audit import EVERYONE, SYSTEM, Act, Event, audited, masked
from shared.domain.ids import new_id
from shared.domain.people import INVITED_MS, Identity, Membership, Person, Role, User, WebSession
from shared.domain.times import Millis
from shared.ports import Clock, Retriable

_USER: Final = Fields(User, apart=("id", "key_admin"))
_SESSION: Final = Fields(WebSession, apart=("digest",), always=("user", "created_at", "expires"))


class DynamoPeople:
    """People of the console.

    Args:
        table: the name of the table `people`.
        records: the table `records`, for operators' tools: their entries of the audit log are also written there.
    """

    def __init__(self, dynamo: Dynamo, table: str, clock: Clock, *, records: str = "") -> None:
        self._db = dynamo
        self._table = table
        self._clock = clock
        self._records = records or table

    def owns_login(self, identity: Identity) -> bool:
        place = keys.pin(identity.provider, identity.login)
        return self._db.attempt(
            "put_item",
            TableName=self._table,
            Item={**place, "subject": s(identity.subject), "at": n(self._now())},
            ConditionExpression="attribute_not_exists(pk) OR subject = :subject",
            ExpressionAttributeValues={":subject": s(identity.subject)},
        )

    def release(self, provider: str, login: str, *, by: str) -> bool:
        """Give a login of the settings to the next person who signs in by it; False if it has no owner.

        Args:
            login: in any case of letters.
        """
        there = {"TableName": self._table, "ConditionExpression": "attribute_exists(pk)"}
        event = audited(EVERYONE, self._now(), masked(f"user:{login}"), Act.LOGIN_RELEASED, by)
        return self._done([{"Delete": {**there, "Key": keys.pin(provider, login)}}], event)

    def signed_in(self, identity: Identity, *, let_in: str = "", operator: str = "") -> User:
        grants = {"let_in_by": s(let_in), "operator_by": s(operator), "operator": {"BOOL": bool(operator)}}
        user = self._known(identity, grants) or self._made(identity, grants)
        self._claim(identity, user)
        return user

    def begin(self, session: WebSession) -> None:
        item = {**keys.session(session.digest), **_SESSION.item(session), "ttl": n(session.expires // 1000)}
        self._db.call("put_item", TableName=self._table, Item=item)

    def session(self, digest: str) -> tuple[WebSession, Person] | None:
        item = self._db.get(self._table, keys.session(digest))
        if item is None:
            return None
        found = WebSession(digest, **_SESSION.read(item))
        person = self._person(found.user)
        return None if person is None else (found, person)

    def end(self, digest: str) -> None:
        self._db.call("delete_item", TableName=self._table, Key=keys.session(digest))

    def end_all(self, user: str) -> None:
        self._db.call(
            "update_item",
            TableName=self._table,
            Key=keys.profile(user),
            UpdateExpression="SET sessions_from = :now",
            ConditionExpression="attribute_exists(pk)",
            ExpressionAttributeValues={":now": n(self._now() + 1)},
        )

    def invite(self, provider: str, login: str, account: str, role: Role, *, by: str = SYSTEM) -> None:
        now = self._now()
        fields = {"role": s(role.value), "at": n(now), "ttl": n((now + INVITED_MS) // 1000)}
        places = keys.waiting(provider, login, account), keys.invited(account, provider, login)
        event = audited(account, now, masked(f"user:{login}"), Act.MEMBER_INVITED, by, {"role": role.value})
        self._done([self._put({**place, **fields}) for place in places], event)

    def waiting(self, account: str) -> list[tuple[str, Role]]:
        found = self._db.partition(self._table, keys.account_pk(account), keys.LOGIN)
        return [(x["sk"]["S"].split("#", 2)[2], Role(text(x, "role"))) for x in found if self._counts(x)]

    def withdraw(self, provider: str, login: str, account: str, *, by: str) -> bool:
        places = keys.waiting(provider, login, account), keys.invited(account, provider, login)
        event = audited(account, self._now(), masked(f"user:{login}"), Act.MEMBER_REMOVED, by)
        return self._done([self._delete(place, there=True) for place in places], event)

    def remove(self, user: str, account: str, *, by: str) -> bool:
        places = keys.membership(user, account), keys.member(account, user)
        event = audited(account, self._now(), user, Act.MEMBER_REMOVED, by)
        return self._done([self._delete(place, there=True) for place in places], event)

    def settle(self, user: User, account: str) -> bool:
        role = {"role": s(Role.ADMIN.value)}
        own: Item = {
            "TableName": self._table,
            "Key": keys.profile(user.id),
            "UpdateExpression": "SET own = :account",
            "ConditionExpression": "attribute_exists(pk) AND attribute_not_exists(own)",
            "ExpressionAttributeValues": {":account": s(account)},
        }
        both = keys.membership(user.id, account), keys.member(account, user.id)
        event = audited(account, self._now(), user.id, Act.MEMBER_INVITED, user.actor, {"role": Role.ADMIN.value})
        return self._done([{"Update": own}, *(self._put({**place, **role}) for place in both)], event)

    def change(self, user: str, account: str, role: Role, *, by: str) -> bool:
        change: Item = {
            "TableName": self._table,
            "UpdateExpression": "SET #role = :role",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeNames": {"#role": "role"},
            "ExpressionAttributeValues": {":role": s(role.value)},
        }
        places = keys.membership(user, account), keys.member(account, user)
        event = audited(account, self._now(), user, Act.MEMBER_CHANGED, by, {"role": role.value})
        return self._done([{"Update": {**change, "Key": place}} for place in places], event)

    def named(self, login: str) -> list[User]:
        """Return everyone who last signed in by a login: all users are read, for operators' commands."""
        page: Item = {}
        found: list[User] = []
        while True:
            page = self._db.call(
                "scan",
                TableName=self._table,
                FilterExpression="sk = :profile",
                ExpressionAttributeValues={":profile": s("PROFILE")},
                **({"ExclusiveStartKey": page["LastEvaluatedKey"]} if page else {}),
            )
            found += [user for user in map(_user, page["Items"]) if user.login.lower() == login.lower()]
            if "LastEvaluatedKey" not in page:
                return found

    def members(self, account: str) -> list[tuple[User, Membership]]:
        found = list(self._db.partition(self._table, keys.account_pk(account), keys.USER))
        roles = {x["sk"]["S"].removeprefix(keys.USER): Role(text(x, "role")) for x in found}
        profiles = self._db.batch_get(self._table, [keys.profile(user) for user in roles])
        users = [_user(x) for x in profiles]
        pairs = [(user, Membership(user.id, account, roles[user.id])) for user in users]
        return sorted(pairs, key=lambda pair: (pair[0].login.lower(), pair[0].id))

    def _known(self, identity: Identity, grants: Item) -> User | None:
        """Return the user of an identity, as of this sign-in; None at the first.

        Args:
            grants: the stored attributes of the user's rights and their reasons.
        """
        pointer = self._db.get(self._table, keys.identity(identity.provider, identity.subject))
        if pointer is None:
            return None
        answer = self._db.call(
            "update_item",
            TableName=self._table,
            Key=keys.profile(text(pointer, "user")),
            UpdateExpression="SET login = :login, #name = :name, #operator = :operator, operator_by = :operator_by, "
            "let_in_by = :let_in_by, seen_at = :now",
            ConditionExpression="attribute_exists(pk)",
            ExpressionAttributeNames={"#name": "name", "#operator": "operator"},
            ExpressionAttributeValues={
                ":login": s(identity.login),
                ":name": s(identity.name),
                **{f":{name}": value for name, value in grants.items()},
                ":now": n(self._now()),
            },
            ReturnValues="ALL_NEW",
        )
        return _user(answer["Attributes"])

    def _made(self, identity: Identity, grants: Item) -> User:
        """Store a new user; two sign-ins of a person at once make one user. `grants`: as of `_known`."""
        now = self._now()
        item = {
            **keys.profile(new_id(now)),
            "provider": s(identity.provider),
            "subject": s(identity.subject),
            "login": s(identity.login),
            "name": s(identity.name),
            "created_at": n(now),
            "seen_at": n(now),
            **grants,
        }
        user = _user(item)
        place = {**keys.identity(identity.provider, identity.subject), "user": s(user.id)}
        new = "attribute_not_exists(pk)"
        actions = [
            {"Put": {"TableName": self._table, "Item": place, "ConditionExpression": new}},
            {"Put": {"TableName": self._table, "Item": item, "ConditionExpression": new}},
        ]
        try:
            self._db.call("transact_write_items", TransactItems=actions)
        except Cancelled:
            other = self._known(identity, grants)
            if other is None:
                raise Retriable("people") from None
            return other
        return user

    def _claim(self, identity: Identity, user: User) -> None:
        """Give a user the memberships that wait for their login; one that they have stays as it is."""
        waiting = self._db.partition(self._table, keys.waiting_pk(identity.provider, identity.login), keys.MEMBER)
        for item in list(waiting):
            account = item["sk"]["S"].removeprefix(keys.MEMBER)
            used = [
                self._delete(keys.invited(account, identity.provider, identity.login)),
                self._delete({"pk": item["pk"], "sk": item["sk"]}, there=True),
            ]
            role = text(item, "role")
            told = {"login": masked(user.login), "role": role}
            event = audited(account, self._now(), user.id, Act.MEMBER_JOINED, user.actor, told)
            if self._counts(item) and self._db.get(self._table, keys.membership(user.id, account)) is None:
                new = {"ConditionExpression": "attribute_not_exists(pk)"}
                both = keys.membership(user.id, account), keys.member(account, user.id)
                puts = [self._put({**place, "role": s(role)}) for place in both]
                self._done([*({"Put": {**x["Put"], **new}} for x in puts), *used], event)
            else:
                self._db.together(used)  # unless another process has done so

    def _person(self, user: str) -> Person | None:
        items = list(self._db.partition(self._table, keys.user_pk(user)))
        profile = next((x for x in items if x["sk"]["S"] == "PROFILE"), None)
        if profile is None:
            return None
        mine = tuple(
            Membership(user, x["sk"]["S"].removeprefix(keys.MEMBER), Role(text(x, "role")))
            for x in items
            if x["sk"]["S"].startswith(keys.MEMBER)
        )
        return Person(_user(profile), mine)

    def _put(self, item: Item) -> Item:
        return {"Put": {"TableName": self._table, "Item": item}}

    def _delete(self, key: Item, *, there: bool = False) -> Item:
        """Return a deletion. `there`: it fails where there is nothing to delete."""
        condition = {"ConditionExpression": "attribute_exists(pk)"} if there else {}
        return {"Delete": {"TableName": self._table, "Key": key, **condition}}

    def _counts(self, invitation: Item) -> bool:
        """Tell whether an invitation is not too old; DynamoDB deletes it some time later."""
        return self._now() < number(invitation, "at") + INVITED_MS

    def _done(self, actions: list[Item], event: Event) -> bool:
        """Write changes and their entry of the audit log in one transaction; False if a condition does not hold."""
        return self._db.together([*actions, *puts(self._db, self._records, event)])

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)


def _user(item: Item) -> User:
    return User(id=item["pk"]["S"].removeprefix(keys.USER), **_USER.read(item))
