"""Which machines may be talked to: names are resolved here, checked, and the address checked is the one dialled.

A check before the request would not do: a name may resolve to another address a moment later (DNS rebinding).
So the check sits where the connection is made, below the pool, for first requests and redirects alike.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Mapping
from typing import Any

import anyio
import httpcore

from undust.errors import UsageError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
NAT64 = ipaddress.ip_network("64:ff9b::/96")
NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "3fff::/20", "64:ff9b:1::/48"),
    )
)
"""What Python takes for global: addresses of protocols, relays, old site-local ones, examples, local NAT64."""


class Forbidden(Exception):
    """The host has no address that may be talked to."""


def is_public(address: str) -> bool:
    """Whether an address belongs to the public internet; addresses wrapped in IPv6 are unwrapped.

    >>> [is_public(a) for a in ("8.8.8.8", "127.0.0.1", "10.1.2.3", "169.254.169.254", "::1")]
    [True, False, False, False, False]
    >>> [is_public(a) for a in ("::ffff:127.0.0.1", "fe80::1%eth0", "64:ff9b::7f00:1", "2002:7f00:1::")]
    [False, False, False, False]
    """
    try:
        return _is_public(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return False


def _is_public(ip: Address) -> bool:
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return _is_public(inner)
    if any(ip in network for network in NOT_PUBLIC):
        return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified)


def parse_resolve(entries: Iterable[str]) -> dict[tuple[str, int], tuple[str, int]]:
    """`host:port:address[:port]`, as curl has it; our port is there for servers that could not get theirs.

    >>> parse_resolve(["demo.undust.test:80:127.0.0.1:8000", "a.test:443:[::1]"])
    {('demo.undust.test', 80): ('127.0.0.1', 8000), ('a.test', 443): ('::1', 443)}
    """
    out = {}
    for entry in entries:
        try:
            host, port, rest = entry.split(":", 2)
            if rest.startswith("["):
                address, _, other = rest[1:].partition("]")
                other = other.removeprefix(":")
            elif rest.count(":") > 1:
                address, other = rest, ""
            else:
                address, _, other = rest.partition(":")
            ipaddress.ip_address(address)
            out[host.lower(), int(port)] = (address, int(other or port))
        except ValueError:
            raise UsageError(f"--resolve {entry}: give host:port:address[:port]") from None
    return out


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """TCP connections, to permitted addresses only.

    `resolve` names addresses that DNS does not have (see `parse_resolve`); they are checked like any other.
    """

    def __init__(
        self,
        allow_private: bool = False,
        resolve: Mapping[tuple[str, int], tuple[str, int]] | None = None,
    ) -> None:
        self.allow_private, self.resolve = allow_private, dict(resolve or {})
        self._below = httpcore.AnyIOBackend()

    async def addresses(self, host: str, port: int) -> list[tuple[str, int]]:
        """Where a host may be reached; Forbidden when it may not.

        One private address among public ones is refused too: a server chooses which of them is used.
        """
        given = self.resolve.get((host.lower().rstrip("."), port))
        found = [given] if given else [(a, port) for a in await lookup(host, port)]
        if not self.allow_private:
            for address, _ in found:
                if not is_public(address):
                    raise Forbidden(f"{host} is at the private address {address}")
        return found

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        error: Exception = httpcore.ConnectError(f"{host} has no address")
        for address, to in await self.addresses(host, port):
            try:
                return await self._below.connect_tcp(address, to, timeout, local_address, socket_options)
            except httpcore.ConnectError as failed:
                error = failed
        raise error

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        raise Forbidden("a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


async def lookup(host: str, port: int) -> list[str]:
    """All addresses of a name, as the system resolves it."""
    try:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(f"{host}: {getattr(error, 'strerror', None) or 'no such host'}") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
