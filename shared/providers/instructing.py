"""Headers of a mail that instruct a vendor's servers instead of the reader."""

from typing import Final

INSTRUCTING: Final = (
    *("x-smtpapi", "x-sg-", "x-mailgun-", "x-ses-", "x-pm-", "x-mc-"),
    *("x-msys-", "x-mj-", "x-mailin-", "x-sib-", "x-elasticemail-", "x-virtual-mta"),
)
"""The beginnings of their names, lower-case. Those in the second line are of SparkPost, Mailjet, Brevo, Elastic Email
and PowerMTA: such a server may be a relay's next one, as each of them may."""
