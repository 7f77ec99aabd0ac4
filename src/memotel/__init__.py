"""Memory middleware for agents, with the instruments on."""
