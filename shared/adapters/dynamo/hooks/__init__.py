"""Webhooks on DynamoDB, in the table `records`."""
