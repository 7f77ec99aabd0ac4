"""Memory for agents of AG2 1 (the package `ag2`)."""
