"""Builds the alert rules: `python -m dashboards.alerting` writes them, `--check` fails if the written ones are stale."""
