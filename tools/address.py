"""Which addresses and URLs the tools may open: the public internet by its usual doors, nothing else.

Pure decisions. A host name passes here by its spelling only; whoever connects asks ``refuse_reason``
about every address that the name resolves to, and connects to exactly an address that passed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import SplitResult, quote, urlsplit

from tools.base import ToolError

URL_LIMIT: Final = 4_000
"""Characters of a URL. Longer ones are data in disguise."""

_PORTS: Final = {"http": 80, "https": 443}

# The IANA special-purpose registries, narrow networks before the wide ones that hold them.
_IPV4: Final = (
    (IPv4Network("0.0.0.0/32"), "unspecified"),
    (IPv4Network("0.0.0.0/8"), "reserved (this network)"),
    (IPv4Network("10.0.0.0/8"), "private"),
    (IPv4Network("100.64.0.0/10"), "shared by carriers"),
    (IPv4Network("127.0.0.0/8"), "loopback"),
    (IPv4Network("168.63.129.16/32"), "a cloud's metadata service"),
    (IPv4Network("169.254.0.0/16"), "link-local, where clouds keep metadata"),
    (IPv4Network("172.16.0.0/12"), "private"),
    (IPv4Network("192.0.0.0/24"), "reserved for protocols"),
    (IPv4Network("192.0.2.0/24"), "documentation"),
    (IPv4Network("192.88.99.0/24"), "a 6to4 relay"),
    (IPv4Network("192.168.0.0/16"), "private"),
    (IPv4Network("198.18.0.0/15"), "benchmarking"),
    (IPv4Network("198.51.100.0/24"), "documentation"),
    (IPv4Network("203.0.113.0/24"), "documentation"),
    (IPv4Network("224.0.0.0/4"), "multicast"),
    (IPv4Network("255.255.255.255/32"), "broadcast"),
    (IPv4Network("240.0.0.0/4"), "reserved"),
)
# Forms that wrap an IPv4 address are refused whatever they hold: no public site is published that way.
_IPV6: Final = (
    (IPv6Network("::/128"), "unspecified"),
    (IPv6Network("::1/128"), "loopback"),
    (IPv6Network("::/96"), "IPv4-compatible"),
    (IPv6Network("::ffff:0:0/96"), "IPv4-mapped"),
    (IPv6Network("::ffff:0:0:0/96"), "IPv4-translated"),
    (IPv6Network("64:ff9b:1::/48"), "a local NAT64 prefix"),
    (IPv6Network("100::/64"), "discard-only"),
    (IPv6Network("2001::/32"), "a Teredo tunnel"),
    (IPv6Network("2001:2::/48"), "benchmarking"),
    (IPv6Network("2001::/23"), "reserved for protocols"),
    (IPv6Network("2001:db8::/32"), "documentation"),
    (IPv6Network("2002::/16"), "a 6to4 tunnel"),
    (IPv6Network("3fff::/20"), "documentation"),
    (IPv6Network("fc00::/7"), "private"),
    (IPv6Network("fe80::/10"), "link-local"),
    (IPv6Network("fec0::/10"), "site-local"),
    (IPv6Network("ff00::/8"), "multicast"),
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")

_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\\\u2028\u2029\ufeff]")
# IDNA 2003 and 2008 read these differently, so the same spelling can be two different sites.
_AMBIGUOUS: Final = re.compile("[ßẞς\u200c\u200d]")


@dataclass(frozen=True, slots=True)
class Target:
    """A checked URL, taken apart. ``host`` is ASCII in lower case (an IPv6 address without brackets);
    ``path`` holds the query too, is percent-encoded and starts with ``/``."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def is_literal(self) -> bool:
        """The host is an IP address, so there is nothing to resolve."""
        return _address_of(self.host) is not None


def refuse_reason(address: str) -> str | None:
    """Why this IP address must not be connected to; None when it is global unicast.

    Follows the IANA special-purpose registries for IPv4 and IPv6. The well-known NAT64 prefix
    64:ff9b::/96 (RFC 6052) is how an IPv6-only host reaches IPv4, so there the inner address decides.
    """
    if "%" in address:
        return "it carries a zone id"
    match _address_of(address):
        case None:
            return "it is not an IP address"
        case IPv4Address() as ip:
            return next((f"it is {kind}" for network, kind in _IPV4 if ip in network), None)
        case IPv6Address() as ip if ip in _NAT64:
            inner = refuse_reason(str(IPv4Address(int(ip) & 0xFFFF_FFFF)))
            return f"it leads through NAT64 to an address that is refused: {inner}" if inner else None
        case IPv6Address() as ip:
            for network, kind in _IPV6:
                if ip in network:
                    return f"it is {kind}"
            return None if ip in _GLOBAL_UNICAST else "it is reserved"


def is_global(address: str) -> bool:
    """``refuse_reason`` has nothing against this IP address."""
    return refuse_reason(address) is None


def check_url(url: str) -> Target:
    """Take a URL apart, or raise ``ToolError`` that names what is wrong and how to write it.

    Accepts http and https on ports 80 and 443. A host in other scripts becomes its ``xn--`` form.
    An IP address is accepted in its plain spelling only, and only when it is global.
    """
    text = url.strip(" ")
    if len(text) > URL_LIMIT:
        raise _bad("The URL is too long.", f"Give a URL of at most {URL_LIMIT} characters.")
    if _UNSAFE.search(text):
        raise _bad("The URL holds a backslash or an invisible character.", "Give it in one line, with forward slashes.")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _bad("The URL cannot be read.", "Write it as https://host/path.") from error
    if parts.scheme not in _PORTS:
        raise _bad("Only http and https URLs can be opened.", "Write it as https://host/path.")
    if "@" in parts.netloc:
        raise _bad("The URL holds a user name or password.", "Leave out all before the @: no sign-in is possible.")
    port = _PORTS[parts.scheme] if port is None else port
    if port not in _PORTS.values():
        raise _bad(f"Port {port} is not opened.", "Only ports 80 and 443 are; leave the port out.")
    return Target(parts.scheme, _host(parts), port, _path(parts))


def _host(parts: SplitResult) -> str:
    raw = parts.hostname or ""
    if not raw:
        raise _bad("The URL names no host.", "Write it as https://host/path.")
    if "%" in raw:
        raise _bad("The host is percent-encoded or carries a zone id.", "Write the host in plain letters.")
    if ("[" in parts.netloc) != (":" in raw):
        raise _bad("The host is not valid.", "Square brackets are for an IPv6 address, and only for that.")
    host = raw if ":" in raw else _ascii(raw)
    if (address := _address_of(host)) is None:
        _check_name(host)
        return host
    if why := refuse_reason(host):
        raise refused(host, why)
    return str(address)


def _ascii(name: str) -> str:
    if len(name) > 253 or _AMBIGUOUS.search(name):
        raise _bad("The host name is too long or ambiguous.", "Write a host in other scripts in its xn-- form.")
    try:
        host = name.encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise _bad("The host name is not valid.", "Check its spelling; empty or long labels are refused.") from error
    return host.removesuffix(".")


def _check_name(host: str) -> None:
    labels = host.split(".")
    # A last label that is a number makes browsers and resolvers read the whole as an IPv4 address.
    if _NUMBER.fullmatch(labels[-1]):
        raise _bad("The host is an IP address in an unusual spelling.", "Write it as four decimal numbers.")
    if not all(_LABEL.fullmatch(label) and len(label) <= 63 for label in labels):
        raise _bad("The host name is not valid.", "Check its spelling: letters, digits, hyphens and dots.")


def _path(parts: SplitResult) -> str:
    """Path and query as they go on the wire. The fragment stays with the reader."""
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
    query = quote(parts.query, safe="/%:@!$&'()*+,;=~?[]")
    return f"{path}?{query}" if query else path


def _address_of(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def refused(host: str, why: str) -> ToolError:
    """The error for a host that leads, or may lead, into a private network."""
    hint = "Only public sites can be opened. Ask the person to paste the text if it is needed."
    return ToolError("address_refused", f"{host} is not opened: {why}.", hint=hint)


def _bad(message: str, hint: str) -> ToolError:
    return ToolError("bad_url", message, hint=hint)
