"""Finds and removes a person's data: entries under their address at once, lists of recipients by reading the table.

Only a chunk lists its recipients, so that a million recipients cost thousands of writes. So an erasure reads all chunks
once. Each write is a compare-and-swap, and a repeated erasure changes nothing. Source: docs/adr/0046.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.campaigns.uploads import DynamoUploads
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import number, s
from shared.adapters.dynamo.digests.keys import PART
from shared.adapters.dynamo.erasure import mails, marks
from shared.adapters.dynamo.erasure.notices import UploadedRecords, erase_notices
from shared.adapters.dynamo.erasure.report import Erased, ErasureReport
from shared.adapters.dynamo.erasure.scanned import SCAN, is_delivery, place_of, token_of, unposted, unshown
from shared.adapters.dynamo.erasure.words import wordless
from shared.adapters.dynamo.jobs import contents
from shared.adapters.dynamo.notices.keys import PAYLOAD_PREFIX
from shared.adapters.dynamo.recipients import guests
from shared.adapters.dynamo.recipients.texts import DynamoTexts
from shared.adapters.s3 import versions
from shared.adapters.s3.archive_eraser import Archived, never
from shared.adapters.s3.blobs import S3Blobs
from shared.domain import archive
from shared.domain.campaigns.campaign import UNREAD
from shared.domain.content import content as content_codec
from shared.domain.content.content import Content
from shared.domain.digests import events
from shared.domain.erasure import BLANK, blank, uncopied, uninformed, without
from shared.domain.jobs import chunks as chunk_codec
from shared.domain.jobs.chunks import Recipient
from shared.domain.namespaces import accounts_of, namespaces_of
from shared.domain.recipients.address_names import is_stand_in, stand_in
from shared.domain.recipients.local_parts import spellings
from shared.domain.recipients.suppressions import AnyReach, DigestsOf, Reach

TRIES: Final = 5


class Eraser:
    """Finds and removes the data of one address or number.

    Args:
        s3: makes an S3 client.
        key: the normalised address or number.
        raw: the address as it was given, for lists in which it was not valid.
    """

    def __init__(
        self,
        dynamo: Dynamo,
        table: str,
        s3: Callable[[], Any],
        bucket: str,
        *,
        key: str,
        raw: str = "",
        dry: bool = False,
    ) -> None:
        self._db = dynamo
        self._table = table
        self._s3 = s3
        self._bucket = bucket
        self._blobs = S3Blobs(s3, bucket)
        self._uploaded = UploadedRecords(dynamo, table, key, self._blobs.get)
        self._names = {*spellings(key), raw or key}
        self._key = key
        self._dry = dry
        self.report = ErasureReport()

    def size(self) -> tuple[int, int]:
        """Return the bytes and the items of the table, as DynamoDB last counted them (every six hours)."""
        found = self._db.call("describe_table", TableName=self._table)["Table"]
        return int(found["TableSizeBytes"]), int(found["ItemCount"])

    # What is kept by address

    def lists(self, accounts: list[str]) -> None:
        """Replace the address by its hash in suppressions and unsubscriptions, which stay in effect."""
        owners = {name: account for account in accounts for name in namespaces_of(account)}
        invited = list(guests.erase(self._db, self._table, accounts, self._key, dry=self._dry))
        self.report.erased.update([Erased.GUESTS] * len(invited))
        self.report.accounts.update(invited)
        places = {keys.suppression(name, "", reach)["pk"]["S"]: name for name in owners for reach in Reach}
        left = Erased.UNSUBSCRIPTIONS
        kinds = {Reach.ALL: Erased.SUPPRESSIONS, Reach.CAMPAIGNS: left, Reach.DIGESTS: left}
        for reach, kind in {**dict.fromkeys(Reach, Erased.STOPS), **kinds}.items():
            for item in self._entries(list(owners), reach):
                if is_stand_in(codec.text(item, "address")):
                    continue
                name = places[item["pk"]["S"]]
                self._note(kind, owners[name])
                if not self._dry:
                    own = DigestsOf(codec.text(item, "policy")) if reach is Reach.DIGESTS else reach
                    self._hash(name, item, own)

    def _entries(self, owners: Sequence[str], reach: Reach) -> Iterator[Item]:
        """Yield the entries of the address in a list of each owner, by its names, in the order to read in."""
        for name in self._db.names.all(self._key):
            yield from self._named([keys.suppression(owner, name, reach) for owner in owners], reach)

    def _named(self, wanted: Sequence[keys.Key], reach: Reach) -> Iterator[Item]:
        """Yield the entries of one name; the list of digests may have many."""
        if reach is not Reach.DIGESTS:
            yield from self._db.batch_get(self._table, wanted)
            return
        for key in wanted:
            query: Item = {
                "KeyConditionExpression": "pk = :pk AND begins_with(sk, :digest)",
                "ExpressionAttributeValues": {":pk": key["pk"], ":digest": key["sk"]},
                "ConsistentRead": True,
            }
            while True:
                page = self._db.call("query", TableName=self._table, **query)
                yield from page["Items"]
                if "LastEvaluatedKey" not in page:
                    break
                query["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def notices(self, accounts: list[str], now: int) -> None:
        """Remove texts of the number, blank notices to it, and cancel those that have not ended. `now`: Unix ms.

        A run's message that still waits is not sent: its row is blanked at once.
        """
        accounts = [name for account in accounts for name in accounts_of(account)]
        for account in DynamoTexts(self._db, records=self._table).erase(accounts, self._key, dry=self._dry):
            self._note(Erased.TEXTS, account)
        for notice in erase_notices(self._db, self._table, accounts, self._key, now=now, dry=self._dry):
            self._note(Erased.NOTICES, notice.account)
            if not notice.done:
                self.report.kept.append("A notice kept changing: erase again.")
            elif notice.run and not self._dry and (chunk := self._db.get(self._table, keys.chunk(notice.run.job, 0))):
                self._chunk(chunk)

    def _hash(self, owner: str, item: Item, reach: AnyReach) -> None:
        name = item["sk"]["S"].partition("#")[0]
        update = {
            "TableName": self._table,
            "UpdateExpression": "SET address = :hash",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeValues": {":hash": s(stand_in(name))},
        }
        log = keys.suppression_log(owner, number(item, "at"), name, reach)
        both = keys.suppression(owner, name, reach), log
        if not self._db.together([{"Update": {**update, "Key": key}} for key in both]):
            self.report.kept.append("An entry of a suppression list changed meanwhile: erase again.")

    # What is found by reading everything

    def scan(self, start: str, reached: Callable[[str, int], None], *, enough: Callable[[], bool] = never) -> str:
        """Read all chunks and contents, and erase the person's data.

        Args:
            start: a place that `reached` got, or that an earlier call returned; empty: the beginning.
            reached: gets, after each page, the place to continue from, empty at the end, and how many items were read.
            enough: asked after each item whether to end.

        Returns:
            The place to continue from, empty at the end.
        """
        request: dict[str, Any] = dict(SCAN)
        if start:
            request["ExclusiveStartKey"] = place_of(start)
        lists = DynamoUploads(self._db, records=self._table, ops="")
        unread = {upload for _, upload in lists.unread()}
        place, more = start, True
        while more:
            page = self._db.call("scan", TableName=self._table, **request)
            place, more = self._page(page, enough)
            reached(place, page["ScannedCount"])
            request["ExclusiveStartKey"] = page.get("LastEvaluatedKey")
        self._unread(unread | {upload for _, upload in lists.unread()})
        return place

    def _page(self, page: Item, enough: Callable[[], bool]) -> tuple[str, bool]:
        """Erase the person from the items of a page; return the place that was reached, and whether to read on."""
        for item in page["Items"]:
            self._found(item)
            if enough():
                return token_of(item), False
        after = page.get("LastEvaluatedKey")
        return (token_of(after), not enough()) if after else ("", False)

    def _found(self, item: Item) -> None:
        """Erase the person from one item that the scan reads."""
        place = item["sk"]["S"]
        if place == "CONTENT":
            self._content(item)
        elif place == PART:
            self._part(item)
        elif "shown" in item:
            self._blank(item, unshown(item, self._names), Erased.REFUSED)
        elif is_delivery(item):
            self._blank(item, unposted(item, self._names), Erased.DELIVERIES)
        elif place.startswith(PAYLOAD_PREFIX):
            self._payload(item)
        else:
            self._chunk(item)

    def _unread(self, lists: set[str]) -> None:
        """Report lists whose chunks may have come behind the scan, unless the report names them already."""
        for name in sorted(x for x in lists if not any(x in sentence for sentence in self.report.kept)):
            self.report.kept.append(f"The list {name} was being read meanwhile and may name the person: erase again.")

    def _chunk(self, item: Item) -> None:
        """Blank a chunk's rows of the person, as the last step, so that a run after a crash finds them again."""
        for _ in range(TRIES):
            left, found = self._without(chunk_codec.unpack(codec.binary(item, "recipients")))
            self._words(item, left)
            if not found:
                if "data" in item:
                    self._content(item)
                return
            job_id = item["pk"]["S"][2:]
            job = self._db.get(self._table, keys.job(job_id))
            self._files(job_id, job)
            if job is not None and number(job, "total") == 1:
                self._alone(job, item)
            self._marks(item, left)
            if self._write(item, {"recipients": {"B": chunk_codec.pack(left)}}, "recipients"):
                self.report.jobs.add(job_id)
                self.report.erased[Erased.RECIPIENTS] += found
                if job is not None:
                    self.report.accounts.add(codec.text(job, "account"))
                return
            item = self._db.get(self._table, {"pk": item["pk"], "sk": item["sk"]}) or {}
            if not item:
                return
        self.report.kept.append("A chunk kept changing: erase again.")

    def _marks(self, item: Item, recipients: Sequence[Recipient]) -> None:
        """Remove what searches find the person by in a chunk. `recipients`: the chunk's, without the person."""
        for holder, change in marks.unmarked(self._db, self._table, item, recipients, self._names):
            if not self._write(holder, change, marks.MARKS):
                self.report.kept.append("What searches find a message by changed meanwhile: erase again.")

    def _words(self, item: Item, recipients: Sequence[Recipient]) -> None:
        """Remove what providers wrote about a chunk's blanked recipients, also those of earlier erasures."""
        places = {i for i, x in enumerate(recipients) if x == BLANK}
        if not places:
            return
        job, number_ = item["pk"]["S"][2:], int(item["sk"]["S"][len(keys.CHUNK_PREFIX) :])
        for detail, change, found in wordless(self._db, self._table, job, number_, places):
            self._blank(detail, (change, found), Erased.WORDS)

    def _payload(self, item: Item) -> None:
        """Blank a notifier's records about the person, whether they were taken or not."""
        if not self._key.startswith("+"):
            return
        account, left, found = self._uploaded.without(item)
        if "blob" in item and not self._dry:
            if found:
                self._blobs.put(item["blob"]["S"], left)
            versions.prune(self._s3(), self._bucket, item["blob"]["S"])  # those of a run that died, too
        if not found:
            return
        if "body" in item and not self._write(item, {"body": {"B": left}}, "body"):
            self.report.kept.append("A payload of a notifier changed meanwhile: erase again.")
            return
        self.report.erased[Erased.RECORDS] += found
        self.report.accounts.add(account)

    def _blank(self, item: Item, change: tuple[Item, int], what: Erased) -> None:
        """Blank the person in an attribute.

        Args:
            change: the attribute without the person, and in how many places they were.
        """
        left, found = change
        if found and self._write(item, left, *left):
            self.report.erased[what] += found
        elif found:
            self.report.kept.append(f"Some {what.removesuffix(' blanked')} changed meanwhile: erase again.")

    def _part(self, item: Item) -> None:
        """Blank the person in posted events, whether their digest is made or not."""
        left, found = uninformed(events.unpack(codec.binary(item, "data")), self._names)
        if not found:
            return
        if not self._write(item, {"data": {"B": events.pack(left)}}, "data"):
            self.report.kept.append("A part of a digest changed meanwhile: erase again.")
            return
        self.report.erased[Erased.EVENTS] += found
        self.report.accounts.add(codec.text(item, "account"))

    def _without(self, recipients: Sequence[Recipient]) -> tuple[Sequence[Recipient], int]:
        """Return recipients with the person's rows blanked, and how many they were."""
        left, found = recipients, 0
        for name in self._names:
            left, n = without(left, name)
            found += n
        return left, found

    def _alone(self, job: Item, item: Item) -> None:
        """Blank the content of a message without other recipients, and its job's subject and name."""
        place = item if "data" in item else self._db.get(self._table, keys.content(job["pk"]["S"][2:]))
        if place is not None:
            self._replace(place, blank)
            self.report.erased[Erased.CONTENTS] += 1
        if not self._dry:
            self._db.call("update_item", TableName=self._table, **mails.unnamed(job))
            if mails.is_of_mail(job):
                self._db.attempt("update_item", TableName=self._table, **mails.unlabelled(job))  # unless it has gone

    def _content(self, item: Item) -> None:
        """Take copies to the person out of a content. `_chunk` handles a person who is a job's only recipient."""
        stored = contents.unpack(item, self._blobs)
        if stored is None:
            return
        if uncopied(stored, self._names) == stored:
            if "blob" in item and not self._dry:  # of a run that died before it had removed what it replaced
                versions.prune(self._s3(), self._bucket, item["blob"]["S"])
            return
        job_id = item["pk"]["S"][2:]
        job = self._db.get(self._table, keys.job(job_id))
        self.report.jobs.add(job_id)
        self._note(Erased.COPIES, codec.text(job, "account") if job else "")
        self._replace(item, lambda content: uncopied(content, self._names))

    def _replace(self, item: Item, change: Callable[[Content], Content]) -> None:
        """Write a content anew in its place: an item, or the bucket."""
        stored = contents.unpack(item, self._blobs)
        if stored is None or self._dry:
            return
        packed = content_codec.pack(change(stored))
        if "blob" in item:
            self._blobs.put(item["blob"]["S"], packed)
            versions.prune(self._s3(), self._bucket, item["blob"]["S"])
        elif not self._write(item, {"data": {"B": packed}}, "data"):
            self.report.kept.append("A content changed meanwhile: erase again.")

    def _write(self, item: Item, changes: Item, name: str) -> bool:
        """Write an attribute if it is as read."""
        if self._dry:
            return True
        return self._db.attempt(
            "update_item",
            TableName=self._table,
            Key={"pk": item["pk"], "sk": item["sk"]},
            UpdateExpression="SET #name = :new",
            ConditionExpression="#name = :old",
            ExpressionAttributeNames={"#name": name},
            ExpressionAttributeValues={":new": changes[name], ":old": item[name]},
        )

    # Files

    def archived(self, reached: Callable[[int], None], *, after: str = "", enough: Callable[[], bool] = never) -> str:
        """Blank the person's rows in archived files, all of which are read; after `scan`, so that none is made anew.

        Args:
            reached: gets the bytes of each file that was read.
            after: where an earlier call ended; empty: the beginning.
            enough: asked at each row whether to end.

        Returns:
            The place to continue from, empty at the end.
        """
        names = {name.lower() for name in self._names}
        files = Archived(self._s3(), self._bucket, names, dry=self._dry)
        place = files.erase(reached, after=after, enough=enough)
        if files.rows:
            self.report.erased[Erased.ARCHIVED] += files.rows
        self.report.accounts |= files.accounts
        self.report.kept += files.kept
        return place

    def _files(self, job_id: str, job: Item | None) -> None:
        """Remove the files of a list, and exports that may name the person; a list that is being read keeps its file.

        A list that was not sent has no job; its file is found under its name.
        """
        account, campaign = (codec.text(job, x) if job is not None else "" for x in ("account", "campaign"))
        if campaign or job is None:
            account = self._list(job_id, account, campaign)
        if account:
            self.report.accounts.add(account)
        for prefix in mails.files_of(job) if job is not None else ():
            self._remove(prefix, Erased.MAILS, lambda _name: True)
        self._drop_export(archive.export_id(job_id))  # an archive that is being made begins anew
        for owner in filter(None, (job_id, campaign) if job is not None else ()):
            self._drop_export(owner)
            self._remove(f"exports/{account}/{owner}/", Erased.EXPORTS, lambda _name: True)

    def _list(self, job_id: str, account: str, campaign: str) -> str:
        """Remove the files of a list, and of the list whose file it shares; return its account.

        The files' names give the account if there is no job.
        """
        prefix = f"uploads/{account}/{campaign}/{job_id}" if campaign else "uploads/"
        names = versions.names(self._s3(), self._bucket, prefix, lambda name: _is_list(name, job_id))
        for name in names:
            _, account, campaign, _ = name.split("/", 3)
        upload = self._db.get(self._table, keys.upload(campaign, job_id)) if campaign else None
        if upload is not None and codec.text(upload, "phase") in UNREAD:
            self.report.kept.append(f"The list {job_id} is being read and keeps its file: erase again afterwards.")
        else:
            self._remove(prefix, None, lambda name: _is_list(name, job_id))
            if names:  # a dry run finds the files again by each chunk of the list
                self.report.lists.add(job_id)
                self.report.erased[Erased.LISTS] = len(self.report.lists)
            if upload is not None and (shared := codec.text(upload, "shares")):
                _, owner, of, name = shared.split("/", 3)
                self._list(name, owner, of)
        return account

    def _drop_export(self, name: str) -> None:
        if not self._dry:
            self._db.call("delete_item", TableName=self._table, Key=keys.export(name))

    def _remove(self, prefix: str, kind: Erased | None, wanted: Callable[[str], bool]) -> None:
        found = (versions.names if self._dry else versions.erase)(self._s3(), self._bucket, prefix, wanted)
        if found and kind is not None:
            self.report.erased[kind] += len(found)

    def _note(self, kind: Erased, account: str) -> None:
        self.report.erased[kind] += 1
        if account:
            self.report.accounts.add(account)


def _is_list(name: str, upload: str) -> bool:
    """Tell whether a file is of a list: uploads/account/campaign/upload[.marks/…|.csv/…]."""
    parts = name.split("/")
    return parts[3:4] in ([upload], [f"{upload}.marks"], [f"{upload}.csv"])
