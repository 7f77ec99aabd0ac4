"""The conservation law, held against what the service itself has."""

from memotel.devserver import DevServer
from memotel.writes.books import Totals


def assert_books_balance(server: DevServer, *books: Totals) -> None:
    """Assert that no write is unaccounted for, that what is called kept is there, and that nothing else is.

    `books` are those of every account that wrote to the server. An answer may be lost, or come after the memory was
    closed, so the server may have more than is called kept, never more than was accepted. Each is there once.
    """
    for one in books:
        assert one.unaccounted == 0, one
        assert 0 <= one.parked <= one.pending, one
    items = server.items(fate=None)
    keys = {(item.scope, item.key) for item in items}
    assert len(keys) == len(items)
    kept = sum(one.delivered for one in books)
    came_in = sum(one.accepted + one.adopted for one in books)
    assert kept <= len(items) <= came_in, (kept, len(items), came_in)
