"""The command `memotel outbox`: what outbox files hold, and what may be done to it from outside."""

from memotel.outboxcli.command import main

__all__ = ["main"]
