"""An HTTPS service behind a proxy: the tunnel is part of connecting, and as bounded as the rest of it.

httpcore's own tunnel keeps a connection for ever when the handshake inside it fails. Made here, below the pool, a
tunnel is a connection like any other: the pool does the handshake, and closes what did not come up.
"""

import ssl
from collections.abc import Iterable

import httpcore

from memotel.http.network import DeadlineBackend, DeadlineStream
from memotel.http.proxies import Proxy

MAX_ANSWER_BYTES = 16 * 1024


class TunnelBackend(httpcore.AsyncNetworkBackend):
    """Connects through `CONNECT` of a proxy, which is itself spoken to in TLS where its URL says https."""

    def __init__(
        self, inner: DeadlineBackend, proxy: Proxy, context: ssl.SSLContext | None, user_agent: str
    ) -> None:
        self._inner = inner
        self._proxy = proxy
        self._context = context
        self._user_agent = user_agent

    async def connect_tcp(  # noqa: PLR0917 # httpcore's signature
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> DeadlineStream:
        """Connect to the proxy and have it connect to `host`, which it resolves itself."""
        stream = await self._inner.connect_tcp(self._proxy.host, self._proxy.port, timeout)
        try:
            if self._proxy.scheme == "https" and self._context is not None:
                await stream.start_tls(self._context, self._proxy.host, timeout)
            await self._ask(stream, host, port)
        except BaseException:
            stream.wire.abort()
            raise
        return stream

    async def sleep(self, seconds: float) -> None:
        """Sleep, but not past the deadline."""
        await self._inner.sleep(seconds)

    async def _ask(self, stream: DeadlineStream, host: str, port: int) -> None:
        await stream.connect_write(self._request(host, port))
        answer = b""
        while b"\r\n\r\n" not in answer:
            data = await stream.connect_read(MAX_ANSWER_BYTES)
            answer += data
            if not data or len(answer) > MAX_ANSWER_BYTES:
                raise self._inner.core.ProxyError("the proxy did not answer CONNECT in HTTP")
        status = status_of(answer)
        if not 200 <= status < 300:
            raise self._inner.core.ProxyError(refusal(status))
        if answer.partition(b"\r\n\r\n")[2]:
            raise self._inner.core.ProxyError("the proxy spoke on after it had opened the tunnel")

    def _request(self, host: str, port: int) -> bytes:
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        lines = [
            f"CONNECT {authority} HTTP/1.1",
            f"Host: {authority}",
            f"User-Agent: {self._user_agent}",
        ]
        if self._proxy.authorization:
            lines.append(f"Proxy-Authorization: {self._proxy.authorization}")
        return "\r\n".join([*lines, "", ""]).encode("ascii")


def status_of(answer: bytes) -> int:
    """Return the status of an HTTP answer, 0 where it is none."""
    version, _, rest = answer.partition(b" ")
    code = rest[:3]
    is_http = version.startswith(b"HTTP/1.") and len(code) == 3 and code.isdigit()
    return int(code) if is_http else 0


def refusal(status: int) -> str:
    """Say why a proxy opened no tunnel."""
    if status == 407:
        return "the proxy wants credentials (407): put them into the proxy URL"
    return f"the proxy refused the tunnel ({status})" if status else "the proxy spoke no HTTP"
