"""The crash matrix: the process is killed at every AWS and provider call, before the request and after the answer."""
