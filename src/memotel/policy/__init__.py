"""Pure decisions: breaker, retry, quota, backoff. Time and randomness are arguments."""
