"""A throwaway certificate authority, and a certificate of its own for this machine."""

import ssl
import tempfile
from pathlib import Path

import trustme


class ThrowawayCa:
    """A certificate authority that lives as long as this object.

    ``ca_file`` is its certificate in PEM: give it to a client's ``verify=`` or SSL_CERT_FILE.
    """

    def __init__(self) -> None:
        self._ca = trustme.CA()
        self._folder = tempfile.TemporaryDirectory(prefix="memotel-ca-")
        self.ca_file = Path(self._folder.name) / "ca.pem"
        self._ca.cert_pem.write_to_path(str(self.ca_file))

    def context(self, *names: str) -> ssl.SSLContext:
        """Return a server's context with a certificate for these names and addresses."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*dict.fromkeys(names)).configure_cert(context)
        return context

    def remove(self) -> None:
        """Remove the PEM file. Idempotent."""
        self._folder.cleanup()
