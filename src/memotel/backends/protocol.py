"""What a backend is: one service's wire format, pure, in both directions.

A codec never does I/O. `read_*` raises `ServiceError` subclasses for error statuses and `ResponseFormatError`
for a success whose body is not as documented; whatever the body, it raises nothing else.
"""

from typing import Protocol

from memotel.http.messages import HttpRequest, HttpResponse
from memotel.outcomes import Provider
from memotel.values import Memories, Recall, Save, Search, Write, WriteAnswer


class Backend(Protocol):
    """One service's codec. `tenant` is None where the service has none."""

    provider: Provider
    needs_tenant: bool
    max_turn_chars: int
    """The longest turn that the service keeps whole, in characters; a longer one is cut."""
    write_operation: str
    """`gen_ai.operation.name` of a write: "upsert_memory" or "create_memory"."""

    def credential_headers(self, credential: str | None) -> tuple[tuple[str, str], ...]:
        """Return the headers that carry the credential (empty for None) and the project."""
        ...

    def tenant_request(self) -> HttpRequest:
        """Build the tenant look-up (only where `needs_tenant`)."""
        ...

    def read_tenant(self, response: HttpResponse) -> str:
        """Return the tenant; raises `AuthenticationError` on 401 and 403."""
        ...

    def recall_request(self, recall: Recall, tenant: str | None) -> HttpRequest:
        """Build a recall."""
        ...

    def read_recall(self, response: HttpResponse) -> Memories:
        """Read the answer to a recall."""
        ...

    def search_request(self, search: Search, tenant: str | None) -> HttpRequest:
        """Build a search."""
        ...

    def read_search(self, response: HttpResponse) -> Memories:
        """Read the answer to a search."""
        ...

    def write_request(self, write: Write, tenant: str | None) -> HttpRequest:
        """Build the delivery of a write; the same write always gives the same request."""
        ...

    def read_write(self, response: HttpResponse) -> WriteAnswer:
        """Read the answer to a write."""
        ...

    def save_request(self, save: Save, tenant: str | None) -> HttpRequest:
        """Build an explicit add."""
        ...

    def read_save(self, response: HttpResponse) -> WriteAnswer:
        """Read the answer to an explicit add; its `record` is the service's own dict."""
        ...

    def idempotency_seed(self, write: Write) -> str | None:
        """Return the replay key as the service sees it, for docs and tests; None where it is `write.key`."""
        ...
