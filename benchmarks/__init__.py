"""Benchmarks: each `python -m benchmarks.NAME` prints a table, and `--json FILE` keeps its figures."""
