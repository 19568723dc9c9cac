"""What Unicode says of single characters."""
