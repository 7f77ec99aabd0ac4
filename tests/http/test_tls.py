import os
import ssl
import subprocess
import threading
from concurrent.futures import Future
from pathlib import Path

import pytest
import trustme
from certificates import authority, ca_file, server_context
from http_calls import client_for, in_loop, post
from raw_server import Received, answering, http_answer, raw_server

from memotel.config import NetworkPolicy
from memotel.errors import ConfigurationError, TransportError
from memotel.http.tls import ContextShelf, TlsSetting, build_context, context_flight, tls_setting

pytestmark = pytest.mark.usefixtures("any_ground")


def test_a_certificate_of_an_unknown_authority_is_refused_and_the_error_says_so() -> None:
    async def scenario() -> None:
        received: list[Received] = []
        async with (
            raw_server(
                answering(http_answer(), received), context=server_context("127.0.0.1")
            ) as server,
            client_for(server.url) as client,
        ):
            with pytest.raises(TransportError, match="certificate is not trusted") as caught:
                await post(client)
            assert caught.value.is_unsent
            assert received == []
            await server.until(lambda s: s.open == 0)

    in_loop(scenario())


def test_a_certificate_for_another_host_is_refused() -> None:
    async def scenario() -> None:
        context = server_context("other.example")
        async with (
            raw_server(answering(http_answer()), context=context) as server,
            client_for(server.url, verify=trusting()) as client,
        ):
            with pytest.raises(TransportError, match="certificate is not trusted"):
                await post(client)

    in_loop(scenario())


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority().configure_trust(context)
    return context


@pytest.mark.parametrize("way", ["file", "folder", "context", "off", "environment"])
def test_each_way_to_say_what_is_trusted_works(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ca_file(tmp_path)
    verify: bool | str | ssl.SSLContext = True
    if way == "file":
        verify = path
    elif way == "folder":
        digest = _subject_hash(path)
        os.link(path, tmp_path / f"{digest}.0")
        verify = str(tmp_path)
    elif way == "context":
        verify = trusting()
    elif way == "off":
        verify = False
    else:
        monkeypatch.setenv("SSL_CERT_FILE", path)

    async def scenario() -> None:
        async with (
            raw_server(answering(http_answer()), context=server_context("127.0.0.1")) as server,
            client_for(server.url, verify=verify) as client,
        ):
            for _ in range(3):
                assert (await post(client)).status == 200
            assert server.connections == 1

    in_loop(scenario())


def _subject_hash(path: str) -> str:
    return subprocess.run(
        ["openssl", "x509", "-hash", "-noout", "-in", path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


@pytest.mark.parametrize("is_one_file", [True, False])
def test_a_client_certificate_is_shown(is_one_file: bool, tmp_path: Path) -> None:
    clients = trustme.CA()
    mine = clients.issue_cert("agent.example")
    key, chain = tmp_path / "key.pem", tmp_path / "cert.pem"
    mine.private_key_pem.write_to_path(key)
    mine.cert_chain_pems[0].write_to_path(chain)
    both = tmp_path / "both.pem"
    mine.private_key_and_cert_chain_pem.write_to_path(both)

    async def scenario() -> None:
        context = server_context("127.0.0.1", client_authority=clients)
        cert = str(both) if is_one_file else (str(chain), str(key))
        async with (
            raw_server(answering(http_answer()), context=context) as server,
            client_for(server.url, verify=ca_file(tmp_path), cert=cert) as with_cert,
            client_for(server.url, verify=ca_file(tmp_path)) as without_cert,
        ):
            assert (await post(with_cert)).status == 200
            with pytest.raises(TransportError):
                await post(without_cert)

    in_loop(scenario())


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")

    async def scenario() -> None:
        async with client_for("https://127.0.0.1:1", verify=str(empty)) as client:
            with pytest.raises(ConfigurationError, match=r"empty\.pem"):
                await post(client)
        async with client_for("https://127.0.0.1:1", cert=str(empty)) as client:
            with pytest.raises(ConfigurationError, match="cert cannot be used"):
                await post(client)

    in_loop(scenario())


def test_a_client_certificate_beside_an_sslcontext_is_refused() -> None:
    async def scenario() -> None:
        async with client_for("https://127.0.0.1:1", verify=trusting(), cert="x.pem") as client:
            with pytest.raises(ConfigurationError, match="SSLContext"):
                await post(client)

    in_loop(scenario())


def test_one_context_is_built_per_setting() -> None:
    shelf = ContextShelf()
    flights = [shelf.flight(TlsSetting(False)) for _ in range(10)]
    assert len({id(flight.result(20)) for flight in flights}) == 1
    assert shelf.flight(TlsSetting(True)).result(20) is not flights[0].result()


def test_a_failed_build_is_tried_again(tmp_path: Path) -> None:
    shelf = ContextShelf()
    setting = TlsSetting(True, str(tmp_path / "ca.pem"))
    with pytest.raises(ConfigurationError):
        shelf.flight(setting).result(20)
    ca_file(tmp_path)
    assert shelf.flight(setting).result(20).cert_store_stats()["x509_ca"] == 1


def test_a_shelf_that_can_start_no_thread_builds_all_the_same() -> None:
    class NoThreads(ContextShelf):
        def _launch(self, setting: TlsSetting, flight: "Future[ssl.SSLContext]") -> None:
            raise RuntimeError("can't create new thread at interpreter shutdown")

    assert NoThreads().flight(TlsSetting(False)).result(0).verify_mode is ssl.CERT_NONE


def test_contexts_are_built_away_from_the_caller() -> None:
    names: list[str] = []

    class Noting(ContextShelf):
        def _build(self, setting: TlsSetting, flight: "Future[ssl.SSLContext]") -> None:
            names.append(threading.current_thread().name)
            super()._build(setting, flight)

    Noting().flight(TlsSetting(False)).result(20)
    assert names == ["memotel-tls"]


def test_the_environment_is_part_of_the_setting_only_by_default() -> None:
    environ = {"SSL_CERT_FILE": "/etc/ca.pem", "SSL_CERT_DIR": "/etc/certs"}
    assert tls_setting(NetworkPolicy(), environ).ca_path == "/etc/ca.pem"
    assert tls_setting(NetworkPolicy(), {"SSL_CERT_DIR": "/etc/certs"}).ca_path == "/etc/certs"
    assert tls_setting(NetworkPolicy(), {}).ca_path == ""
    assert tls_setting(NetworkPolicy(verify=__file__), environ).ca_path == __file__
    assert not tls_setting(NetworkPolicy(verify=False), environ).verify


def test_certificates_are_verified_unless_that_is_switched_off() -> None:
    on, off = build_context(TlsSetting(True)), build_context(TlsSetting(False))
    assert (on.verify_mode, on.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert (off.verify_mode, off.check_hostname) == (ssl.CERT_NONE, False)


def test_an_sslcontext_of_the_callers_is_used_as_it_is() -> None:
    context = trusting()
    assert context_flight(NetworkPolicy(verify=context), {}).result(0) is context
