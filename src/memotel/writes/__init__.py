"""From a turn to its delivery: identity, outbox, drain."""
