"""Samples of every call: an example of its request and its answer, and a program in each language.

`functions.api.openapi` puts them into the OpenAPI document when it is generated. No function imports this package.
"""
