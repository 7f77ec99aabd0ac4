"""A throwaway certificate authority, one per test run."""

import ssl
from functools import cache
from pathlib import Path

import trustme


@cache
def authority() -> trustme.CA:
    """Return the authority."""
    return trustme.CA()


def server_context(*names: str, client_authority: trustme.CA | None = None) -> ssl.SSLContext:
    """Return a server's context with a certificate for `names`; asks for client certificates of that authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert(*names).configure_cert(context)
    if client_authority is not None:
        client_authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def ca_file(folder: Path) -> str:
    """Write the authority's certificate and return the path."""
    path = folder / "ca.pem"
    authority().cert_pem.write_to_path(path)
    return str(path)
