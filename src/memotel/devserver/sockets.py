"""Listening sockets on the addresses of a host."""

import errno
import ipaddress
import socket
from typing import Final

BACKLOG: Final = 2048
# localhost is often listed with an IPv6 address that the machine does not have.
_NO_SUCH_ADDRESS: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})


def bind(host: str, port: int, *, allow_remote: bool) -> list[socket.socket]:
    """Bind a TCP socket to each address of a host, all on one port, and listen.

    Raises:
        ValueError: an address is not loopback and ``allow_remote`` is False.
        OSError: the port is taken (EADDRINUSE), or the host is unknown.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    addresses = dict.fromkeys((family, str(address[0])) for family, *_, address in found)
    for _, address in addresses:
        if not (allow_remote or ipaddress.ip_address(address.partition("%")[0]).is_loopback):
            needed = "allow_remote (--allow-remote) is needed"
            raise ValueError(f"host={host!r} is reachable from outside: {needed}")
    sockets: list[socket.socket] = []
    absent: list[OSError] = []
    for family, address in addresses:
        try:
            sockets.append(listen_on(family, address, _port(sockets, port)))
        except OSError as error:
            if error.errno not in _NO_SUCH_ADDRESS:
                close_all(sockets)
                raise
            absent.append(error)
    if not sockets:
        raise absent[0]
    return sockets


def _port(sockets: list[socket.socket], port: int) -> int:
    return int(sockets[0].getsockname()[1]) if sockets else port


def listen_on(family: int, address: str, port: int) -> socket.socket:
    """Return a socket that listens on one address.

    Raises:
        OSError: the port is taken, or the machine has no such address.
    """
    # asyncio sets TCP_NODELAY only where the protocol is named: else each answer takes 40 ms.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, port))
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def close_all(sockets: list[socket.socket]) -> None:
    """Close sockets."""
    for sock in sockets:
        sock.close()
