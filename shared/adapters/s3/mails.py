"""Files of mails in the deployment's bucket: copied on a condition, and removed."""

from botocore.exceptions import ClientError

from shared.adapters.s3.files import S3Files, faults
from shared.ports import FileChanged, FileFacts

_CHANGED = frozenset({"NoSuchKey", "PreconditionFailed", "404", "412"})


class S3MailFiles(S3Files):
    """`ports.MailFiles` in a bucket."""

    def copy(self, name: str, *, etag: str, to: str) -> FileFacts:
        try:
            with faults():
                self._s3().copy_object(
                    Bucket=self._bucket,
                    Key=to,
                    CopySource={"Bucket": self._bucket, "Key": name},
                    CopySourceIfMatch=f'"{etag}"',
                )
        except ClientError as error:
            if error.response["Error"]["Code"] in _CHANGED:
                raise FileChanged(name) from None
            raise
        facts = self.facts(to)
        if facts is None:
            raise FileChanged(to)
        return facts
