"""The right of people to make an account of their own."""
