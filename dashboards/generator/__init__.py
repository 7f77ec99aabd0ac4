"""Builds the dashboards: `python -m dashboards.generator` writes them, `--check` fails if a written one is stale."""
