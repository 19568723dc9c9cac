"""What of the SDKs is made from the OpenAPI document: types by generators of others, methods by these modules."""
