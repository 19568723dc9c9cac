"""What an account has besides campaigns and batches: suppressions, schedules, daily figures, single messages."""
