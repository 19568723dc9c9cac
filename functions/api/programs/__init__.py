"""Programs: schedules that notifiers copy."""
