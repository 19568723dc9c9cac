"""The parts of the SDKs made from the OpenAPI document: types by generators of others, methods by these modules."""
