import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotel.errors import ConfigurationError
from memotel.http.proxies import Proxy, choose_proxy

API = "https://api.memory.example"
PROXY = "http://proxy.example:3128"


def chosen(base_url: str = API, explicit: str | None = None, **environ: str) -> str | None:
    proxy = choose_proxy(base_url, explicit, environ)
    return None if proxy is None else f"{proxy.scheme}://{proxy.host}:{proxy.port}"


def test_no_setting_means_no_proxy() -> None:
    assert chosen() is None


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
def test_the_environment_names_the_proxy_of_an_https_service(name: str) -> None:
    assert chosen(**{name: PROXY}) == PROXY


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_the_environment_names_the_proxy_of_an_http_service(name: str) -> None:
    assert chosen("http://memory.internal:9876", **{name: PROXY}) == PROXY


def test_the_scheme_of_the_service_decides_which_variable_counts() -> None:
    assert chosen(HTTP_PROXY=PROXY) is None
    assert chosen(HTTPS_PROXY=PROXY, ALL_PROXY="http://other.example:1") == PROXY
    assert chosen(https_proxy=PROXY, HTTPS_PROXY="http://other.example:1") == PROXY


def test_an_explicit_proxy_wins_even_over_no_proxy() -> None:
    assert chosen(explicit=PROXY, HTTPS_PROXY="http://other.example:1", NO_PROXY="*") == PROXY


def test_an_empty_proxy_means_none() -> None:
    assert chosen(explicit="", HTTPS_PROXY=PROXY) is None


def test_http_proxy_is_not_believed_in_a_cgi_process() -> None:
    base = "http://memory.internal"
    assert chosen(base, HTTP_PROXY=PROXY, REQUEST_METHOD="GET") is None
    assert chosen(base, http_proxy=PROXY, REQUEST_METHOD="GET") == PROXY


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_loopback_goes_direct_unless_said_otherwise(host: str) -> None:
    assert chosen(f"http://{host}:9876", HTTP_PROXY=PROXY) is None
    assert chosen(f"http://{host}:9876", explicit=PROXY) == PROXY


@pytest.mark.parametrize(
    ("no_proxy", "base_url"),
    [
        ("*", API),
        ("api.memory.example", API),
        ("memory.example", API),
        (".memory.example", API),
        ("*.memory.example", API),
        ("MEMORY.example", API),
        ("other.example, memory.example", API),
        ("api.memory.example:443", API),
        ("10.0.0.0/8", "https://10.1.2.3"),
        ("10.1.2.3", "https://10.1.2.3:8443"),
        ("10.1.2.3:8443", "https://10.1.2.3:8443"),
        ("2001:db8::/32", "https://[2001:db8::5]"),
        ("2001:db8::5", "https://[2001:db8::5]"),
        ("[2001:db8::5]:443", "https://[2001:db8::5]"),
    ],
)
def test_no_proxy_names_hosts_domains_addresses_networks_and_ports(
    no_proxy: str, base_url: str
) -> None:
    assert chosen(base_url, HTTPS_PROXY=PROXY, NO_PROXY=no_proxy) is None
    assert chosen(base_url, HTTPS_PROXY=PROXY, no_proxy=no_proxy) is None


@pytest.mark.parametrize(
    "no_proxy",
    ["", ",", "ory.example", "api.memory.example:80", "10.0.0.0/8", "not/a/network", "example.org"],
)
def test_no_proxy_leaves_other_hosts_to_the_proxy(no_proxy: str) -> None:
    assert chosen(HTTPS_PROXY=PROXY, NO_PROXY=no_proxy) == PROXY


@given(st.text())
def test_no_proxy_never_fails_whatever_it_holds(no_proxy: str) -> None:
    assert chosen(HTTPS_PROXY=PROXY, NO_PROXY=no_proxy) in (PROXY, None)


def test_a_proxy_without_scheme_or_port_is_understood() -> None:
    assert chosen(HTTPS_PROXY="proxy.example:3128") == PROXY
    assert chosen(HTTPS_PROXY="http://proxy.example") == "http://proxy.example:80"
    assert chosen(HTTPS_PROXY="https://proxy.example") == "https://proxy.example:443"


def test_credentials_of_the_url_become_a_header_that_the_repr_hides() -> None:
    proxy = choose_proxy(API, "http://us%40er:p%3Ass@proxy.example:3128", {})
    assert proxy == Proxy("http", "proxy.example", 3128, "us@er", "p:ss")
    assert proxy.authorization == "Basic dXNAZXI6cDpzcw=="
    assert proxy.url == "http://proxy.example:3128"
    assert "us@er" not in repr(proxy)
    assert "p:ss" not in repr(proxy)


@pytest.mark.parametrize("url", ["socks5://proxy.example:1080", "ftp://proxy.example"])
def test_other_kinds_of_proxy_are_refused_by_the_name_of_their_setting(url: str) -> None:
    with pytest.raises(ConfigurationError, match="ALL_PROXY"):
        chosen(ALL_PROXY=url)
    with pytest.raises(ConfigurationError, match=r"^proxy must"):
        chosen(explicit=url)


def test_a_proxy_url_that_cannot_be_read_is_refused_without_its_credentials() -> None:
    with pytest.raises(ConfigurationError) as caught:
        chosen(HTTPS_PROXY="http://user:secret@proxy.example:notaport")
    assert "secret" not in str(caught.value)
