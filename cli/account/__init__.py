"""Commands of an account besides campaigns and batches: suppressions, schedules, daily figures, single messages."""
