"""Mails on DynamoDB, in the table `records`."""
