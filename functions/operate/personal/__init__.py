"""Routes of operators about data of recipients: they erase a person, and key the hashes of addresses."""
