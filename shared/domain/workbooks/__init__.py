"""Workbooks (.xlsx, .ods) read as streams, in bounded memory. No part of one is trusted."""
