"""The rules of hooks as a model: how changes become deliveries, and how an endpoint's deliveries are made."""
