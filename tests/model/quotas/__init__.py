"""The rules of quotas as a model: what reservations count, by workers with wrong clocks, with crashes."""
