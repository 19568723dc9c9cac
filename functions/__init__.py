"""The functions. Each of them imports this module first.

Nearly all objects that a start makes stay. Checking them for garbage every 700 objects, Python's default, took a sixth
to a quarter of the sender's and the logger's start. With 50,000, three checks took 40 ms of the API's start. So
Python checks nothing until the start is over, and never what the start has made: `functions.early`.
"""

import gc

gc.set_threshold(1_000_000, 20, 50)
