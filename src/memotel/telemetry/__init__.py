"""Telemetry: spans, metrics, and the set-up for applications that have none of their own."""
