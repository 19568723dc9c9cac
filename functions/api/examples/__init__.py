"""Examples of each operation's request and answers.

`functions.api.openapi` puts them into the OpenAPI document when it is generated. No function imports this package.
"""
