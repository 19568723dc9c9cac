"""The relay: takes mail by SMTP, and hands it to the API."""
