"""The outbox on disk: accepted writes in one SQLite file for each process, which outlives it.

A way in: `outbox.py` (what the ledger calls), `directory.py` (this process's file and the others beside it), `file.py` (one
file: each move and its count in one transaction), `adoption.py` (taking over what a dead process left), `inspection.py` (what
`memotel outbox` does from outside).
"""
