"""GET /images/{account}/{file}: pictures of messages, which are public."""
