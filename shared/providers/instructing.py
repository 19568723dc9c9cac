"""Headers of a mail that instruct a vendor's servers instead of the reader."""

from typing import Final

INSTRUCTING: Final = (
    *("x-smtpapi", "x-sg-", "x-mailgun-", "x-ses-", "x-pm-", "x-mc-"),
    *("x-msys-", "x-mj-", "x-mailin-", "x-sib-", "x-elasticemail-", "x-virtual-mta"),
)
"""The beginnings of their names, lower-case. The second line is of SparkPost, Mailjet, Brevo, Elastic Email and
PowerMTA. Each vendor's server may be the next one after a relay."""
