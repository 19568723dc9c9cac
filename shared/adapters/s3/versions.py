"""Removing files of a bucket that keeps versions: all of them, so that nothing is left to be had back."""

from collections.abc import Callable
from typing import Any, Final

BATCH: Final = 1000
"""Objects of one DeleteObjects call."""


def names(client: Any, bucket: str, prefix: str, wanted: Callable[[str], bool]) -> list[str]:
    """Return the names of files, those of old versions included, each once.

    Args:
        client: a boto3 client of S3.
        prefix: what the names start with.
        wanted: whether a name is included.
    """
    return sorted({x["Key"] for x in _versions(client, bucket, prefix, wanted)})


def erase(client: Any, bucket: str, prefix: str, wanted: Callable[[str], bool]) -> list[str]:
    """Delete every version of files.

    Args:
        client: a boto3 client of S3.
        prefix: what the names start with.
        wanted: whether a name is included.

    Returns:
        Their names, each once; repeating it finds none.

    Raises:
        RuntimeError: S3 did not delete some of them; the others are deleted.
    """
    found = _versions(client, bucket, prefix, wanted)
    _delete(client, bucket, found)
    return sorted({x["Key"] for x in found})


def prune(client: Any, bucket: str, name: str) -> None:
    """Delete all versions of a file but the present one.

    Args:
        client: a boto3 client of S3.

    Raises:
        RuntimeError: S3 did not delete some of them.
    """
    _delete(client, bucket, _versions(client, bucket, name, lambda key: key == name, latest=False))


def _delete(client: Any, bucket: str, found: list[dict[str, str]]) -> None:
    for start in range(0, len(found), BATCH):
        objects = {"Objects": found[start : start + BATCH], "Quiet": True}
        failed = client.delete_objects(Bucket=bucket, Delete=objects).get("Errors", [])
        if failed:
            raise RuntimeError(f"{len(failed)} versions of files were not deleted: {failed[0]['Code']}")


def _versions(
    client: Any, bucket: str, prefix: str, wanted: Callable[[str], bool], *, latest: bool = True
) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for page in client.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
        listed = (*page.get("Versions", ()), *page.get("DeleteMarkers", ()))
        some = [x for x in listed if wanted(x["Key"]) and (latest or not x["IsLatest"])]
        found += [{"Key": x["Key"], "VersionId": x["VersionId"]} for x in some]
    return found
