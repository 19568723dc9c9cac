"""Pages about approvals."""
