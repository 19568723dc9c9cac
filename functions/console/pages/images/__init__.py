"""Pictures of messages: what the account has, another one, and the end of one."""
