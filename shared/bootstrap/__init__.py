"""Names the adapters behind the ports and builds what each function needs, once, when it is first called.

Every builder imports only what its function uses: a function's cold start pays for nothing else.
"""

from shared.bootstrap.deployment import Deployment

__all__ = ["Deployment"]
