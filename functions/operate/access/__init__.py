"""The routes of `KeyAdminPolicy`: they make, list and take back what lets somebody in."""
