"""Files of pictures, as the public function reads them."""

from botocore.exceptions import ClientError

from shared.adapters.s3.files import S3Files


class S3Pictures(S3Files):
    """Files of a bucket that the caller may not list: S3 calls a missing one denied then."""

    def get(self, name: str) -> bytes | None:
        try:
            return super().get(name)
        except ClientError as error:
            if error.response["Error"]["Code"] == "AccessDenied":
                return None
            raise
