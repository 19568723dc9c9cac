"""Notifiers, notices and their updates on DynamoDB, in the table `records`."""
