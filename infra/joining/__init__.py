"""What lets people make an account of their own."""
