"""Removing files of a bucket that keeps versions: all of them, so that nothing is left to be had back."""

from collections.abc import Callable
from typing import Any, Final

BATCH: Final = 1000
"""Objects of one DeleteObjects call."""


def names(client: Any, bucket: str, prefix: str, wanted: Callable[[str], bool]) -> list[str]:
    """Return the names of the files under a prefix that are wanted, old versions among them, each once."""
    return sorted({x["Key"] for x in _versions(client, bucket, prefix, wanted)})


def erase(client: Any, bucket: str, prefix: str, wanted: Callable[[str], bool]) -> list[str]:
    """Delete every version of the files under a prefix whose names are wanted.

    Returns:
        Their names, each once; repeating it finds none.

    Raises:
        RuntimeError: S3 did not delete some of them; the others are gone.
    """
    found = _versions(client, bucket, prefix, wanted)
    for start in range(0, len(found), BATCH):
        objects = {"Objects": found[start : start + BATCH], "Quiet": True}
        failed = client.delete_objects(Bucket=bucket, Delete=objects).get("Errors", [])
        if failed:
            raise RuntimeError(f"{len(failed)} versions of files were not deleted: {failed[0]['Code']}")
    return sorted({x["Key"] for x in found})


def _versions(client: Any, bucket: str, prefix: str, wanted: Callable[[str], bool]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for page in client.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
        listed = (*page.get("Versions", ()), *page.get("DeleteMarkers", ()))
        found += [{"Key": x["Key"], "VersionId": x["VersionId"]} for x in listed if wanted(x["Key"])]
    return found
