"""The API's documentation as a page: Swagger UI, which `make setup` puts into `static`, and what we add to it."""
