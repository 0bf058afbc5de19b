from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.address import URL_LIMIT, check_url, is_global, refuse_reason
from tools.base import ToolError
from tools.fetch import Endpoint, PageFetcher

GLOBAL = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001::8a",
    "2001:4860:4860::8888",
    "64:ff9b::8.8.8.8",
]

REFUSED = {
    "unspecified": "0.0.0.0 :: ::0",
    "this network": "0.1.2.3 0.255.255.255",
    "private": "10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255 fc00::1 fd12::1",
    "shared": "100.64.0.1 100.100.100.200 100.127.255.255",
    "loopback": "127.0.0.1 127.255.255.254 ::1 0:0:0:0:0:0:0:1",
    "metadata": "169.254.169.254 169.254.170.2 168.63.129.16",
    "link-local": "169.254.0.1 fe80::1 febf::1",
    "site-local": "fec0::1",
    "protocols": "192.0.0.1 192.0.0.192 2001:10::1 2001:20::1",
    "documentation": "192.0.2.1 198.51.100.7 203.0.113.255 2001:db8::1 3fff::1",
    "benchmarking": "198.18.0.1 198.19.255.255 2001:2::1",
    "multicast": "224.0.0.1 239.255.255.255 ff02::1 ff0e::1",
    "reserved": "240.0.0.1 255.255.255.254 4000::1 5f00::1 e000::1",
    "broadcast": "255.255.255.255",
    "private-service": "fd00:ec2::254 fd20:ce::254",
    "IPv4-mapped": "::ffff:127.0.0.1 ::ffff:a9fe:a9fe ::ffff:8.8.8.8",
    "IPv4-compatible": "::127.0.0.1 ::8.8.8.8",
    "IPv4-translated": "::ffff:0:10.0.0.1",
    "NAT64": "64:ff9b::10.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 64:ff9b:1:ffff::8.8.8.8",
    "6to4": "2002:7f00:1:: 2002:a00:1::1 2002:808:808:: 192.88.99.1",
    "Teredo": "2001:0:4136:e378:8000:63bf:3fff:fdd2 2001::1",
    "discard": "100::1",
    "zone": "fe80::1%eth0 2606:4700:4700::1111%1 1.1.1.1%lo",
    "not an IP": "localhost 127.1 0x7f.0.0.1 0177.0.0.1 2130706433 [::1] 1.1.1.1/32 127.0.0.1.",
}
CASES = [(kind, address) for kind, addresses in REFUSED.items() for address in addresses.split()]

NETWORKS = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
]
NETWORKS_6 = ["::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "4000::/2", "8000::/1", "100::/8"]


@pytest.mark.parametrize("address", GLOBAL)
def test_public_addresses_pass(address: str):
    assert refuse_reason(address) is None


@pytest.mark.parametrize(("kind", "address"), CASES)
def test_every_other_kind_of_address_is_refused_by_its_name(kind: str, address: str):
    reason = refuse_reason(address)
    assert reason is not None
    assert kind.removesuffix("-service") in reason


def inside(network: IPv4Network | IPv6Network) -> st.SearchStrategy[str]:
    first, last = int(network.network_address), int(network.broadcast_address)
    kind = IPv4Address if isinstance(network, IPv4Network) else IPv6Address
    return st.integers(first, last).map(lambda number: str(kind(number)))


refused_4 = st.one_of([inside(IPv4Network(network)) for network in NETWORKS])
refused_6 = st.one_of([inside(IPv6Network(network)) for network in NETWORKS_6])


@given(st.one_of(refused_4, refused_6))
def test_no_address_of_a_refused_range_passes(address: str):
    assert not is_global(address)


@given(refused_4, st.sampled_from(["::ffff:{}", "::{}", "64:ff9b::{}", "64:ff9b:1::{}", "::ffff:0:{}"]))
def test_no_wrapping_makes_a_refused_address_pass(address: str, wrapper: str):
    assert not is_global(wrapper.format(address))


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_what_passes_is_global_for_the_standard_library_too(address: IPv4Address | IPv6Address):
    if is_global(str(address)):
        assert address.is_global
        assert not address.is_multicast


GOOD_URLS = {
    "https://example.org": "https://example.org/",
    "HTTP://Example.ORG:80/A": "http://example.org/A",
    "http://example.org:443/": "http://example.org:443/",
    "  https://example.org/a?b=c&d=%20#part ": "https://example.org/a?b=c&d=%20",
    "https://example.org?q=1": "https://example.org/?q=1",
    "https://example.org./": "https://example.org/",
    "https://example.org:/": "https://example.org/",
    "https://bücher.example/ä b": "https://xn--bcher-kva.example/%C3%A4%20b",
    "https://例え。テスト/": "https://xn--r8jz45g.xn--zckzah/",
    "https://ｅｘａｍｐｌｅ.org/": "https://example.org/",
    "https://_dmarc.a-b.example.org/": "https://_dmarc.a-b.example.org/",
    "http://1.1.1.1./": "http://1.1.1.1/",
    "http://[2606:4700:4700:0::1111]/": "http://[2606:4700:4700::1111]/",
    "http://[2606:4700:4700::1111]:443/": "http://[2606:4700:4700::1111]:443/",
    "https://1e100.net/": "https://1e100.net/",
}

BAD_URLS = [
    *("", " ", "example.org", "//example.org/", "http:example.org", "http:/example.org", "http:///etc/passwd"),
    *("ftp://example.org/", "file:///etc/passwd", "gopher://example.org/", "javascript:alert(1)", "data:text/html,x"),
    *("https://user@example.org/", "https://user:pass@example.org/", "http://example.org@127.0.0.1/", "http://@a.org/"),
    *("http://example.org:22/", "http://example.org:8080/", "http://example.org:0/", "http://example.org:99999/"),
    *("http://example.org:80:80/", "http://example.org:-80/", "http://example.org:٨٠/", "http://example.org:8 0/"),
    *("http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://0x7f.0.0.1/"),
    *("http://127.0.0.01/", "http://1.1.1.256/", "http://1.1.1.1.1/", "http://0/", "http://0x/", "http://foo.0x7f/"),
    *("http://１２７.1/", "http://127。1/", "http://0x7f.1./", "http://①②⑦.1/"),
    *("http://example.org\\@127.0.0.1/", "http:\\\\example.org/", "http://exam\tple.org/", "http://exa\nmple.org/"),
    *(
        "https://example.org/\r\nHost: a",
        "https://example.org/\x00",
        "https://example.org/a\u2028b",
        "\x01https://a.org",
    ),
    *("http://%31%32%37.0.0.1/", "http://example%2eorg/", "http://[fe80::1%25eth0]/", "http://127.0.0.1%00.org/"),
    *("http://a..org/", "http://.org/", "http://example.org../", "http://./", "http://-a.org/", "http://a-.org/"),
    *("http://a b.org/", "http://a,b.org/", "http://a;b.org/", "http://a'b.org/", "http://" + "a" * 64 + ".org/"),
    *("http://" + "a." * 130 + "org/", "http://faß.de/", "http://a\u200db.org/", "http://[::1", "http://::1/"),
    *("http://[1.1.1.1]/", "http://[v1.a]/", "http://a℀b.org/", "https://example.org/" + "a" * URL_LIMIT),
]

REFUSED_URLS = [
    *("http://127.0.0.1/", "http://127.0.0.1./", "http://１２７.０.０.１/", "http://127。0。0。1/", "http://⑩.0.0.1/"),
    *("http://169.254.169.254/latest/meta-data/", "https://10.0.0.1/", "http://192.168.0.1:443/", "http://0.0.0.0/"),
    *("http://[::1]/", "http://[::]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[fd00::1]/"),
    *("http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://[::127.0.0.1]/", "http://100.100.100.200/"),
]


@pytest.mark.parametrize(("given", "checked"), GOOD_URLS.items())
def test_a_plain_url_passes_in_one_spelling(given: str, checked: str):
    assert check_url(given).url == checked
    assert check_url(checked).url == checked


@pytest.mark.parametrize("url", BAD_URLS)
def test_an_odd_url_is_refused_with_a_hint(url: str):
    with pytest.raises(ToolError) as caught:
        check_url(url)
    assert caught.value.code == "bad_url"
    assert caught.value.hint


@pytest.mark.parametrize("url", REFUSED_URLS)
def test_a_url_of_a_private_address_is_refused(url: str):
    with pytest.raises(ToolError) as caught:
        check_url(url)
    assert caught.value.code == "address_refused"


@given(st.text(max_size=40), st.text(alphabet="abc019.:/@[]%\\x-\t。１ß", max_size=25))
def test_any_text_gives_a_target_or_a_tool_error_and_nothing_unsafe_on_the_wire(text: str, host: str):
    for url in (text, f"http://{host}", f"https://{host}/{text}", f"https://example.org/{text}"):
        try:
            target = check_url(url)
        except ToolError:
            continue
        assert target.url.isascii()
        assert target.url.isprintable()
        assert " " not in target.url
        assert target.path.startswith("/")
        assert target.port in (80, 443)
        assert check_url(target.url) == target


@pytest.mark.parametrize("answer", [*[[address] for _, address in CASES], ["1.1.1.1", "10.0.0.1"], ["::1", "8.8.8.8"]])
async def test_a_name_is_refused_if_any_of_its_addresses_is(answer: list[str]):
    async def resolver(host: str, port: int) -> list[Endpoint]:
        return [Endpoint(address, port) for address in answer]

    with pytest.raises(ToolError) as caught:
        await PageFetcher(resolver=resolver).fetch("https://innocent.example/")
    assert caught.value.code == "address_refused"
    assert "innocent.example" in caught.value.message
