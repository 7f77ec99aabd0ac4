"""Each fault, as a client sees it, over http and https."""

from random import Random

import httpx
import pytest
from devserver_http import client_of, create, recall, remember, search
from raw_client import chunks, connect, post, wait_until_it_listens

from memotel.devserver import DevServer, Fault, Route
from memotel.devserver.strike import delay_s

RECALL = "/v1/memory/recall"
ASKED: dict[str, object] = {"tenant_id": "default", "user_id": "ada", "prompt": "green tea", "k": 5}


def seen_as(server: DevServer) -> type[Exception]:
    """Return what a reset looks like to httpx: over TLS, Python's ssl reads it as an end of file."""
    return httpx.ReadError if server.ca_file is None else httpx.RemoteProtocolError


def test_hang_is_never_answered(server: DevServer) -> None:
    server.faults.set(Fault("hang"))
    with client_of(server, timeout_s=0.3) as client, pytest.raises(httpx.ReadTimeout):
        recall(client, "green tea")
    assert [seen.status for seen in server.requests()] == [0]


def test_hang_after_storing_keeps_the_write(server: DevServer) -> None:
    server.faults.set(Fault("hang", "writes", stored=True))
    with client_of(server, timeout_s=0.5) as client, pytest.raises(httpx.ReadTimeout):
        remember(client, "I like green tea")
    assert [item.deliveries for item in server.items("ada")] == [1]


def test_delay_handles_the_write_though_its_client_has_left(server: DevServer) -> None:
    server.faults.set(Fault("delay", delay_s=1.0))
    with client_of(server, timeout_s=0.3) as client, pytest.raises(httpx.ReadTimeout):
        remember(client, "I like green tea")
    assert server.items("ada") == ()
    assert server.wait_until(lambda: len(server.items("ada")) == 1)


def test_lognormal_delays_differ_and_are_the_same_for_a_seed() -> None:
    fault = Fault("delay", delay_s=0.5, sigma=0.6)
    random, again = Random(7), Random(7)  # noqa: S311  # delays, no secrets
    drawn = [delay_s(fault, random) for _ in range(1001)]
    assert len(set(drawn)) == 1001
    assert drawn == [delay_s(fault, again) for _ in range(1001)]
    assert sorted(drawn)[500] == pytest.approx(0.5, rel=0.1)


def test_reset_before_the_body_is_a_reset_connection(
    server: DevServer, client: httpx.Client
) -> None:
    server.faults.set(Fault("reset"))
    with pytest.raises(seen_as(server)):
        remember(client, "I like green tea")
    assert server.items() == ()


def test_clean_reset_is_a_closed_connection(server: DevServer, client: httpx.Client) -> None:
    server.faults.set(Fault("reset", clean=True))
    with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
        recall(client, "green tea")


def test_reset_after_storing_loses_the_answer_only(server: DevServer, client: httpx.Client) -> None:
    server.faults.set(Fault("reset", stored=True, times=1))
    with pytest.raises(seen_as(server)):
        create(client, "I like green tea", "key-1")
    assert create(client, "I like green tea", "key-1").status_code == 409
    assert [item.deliveries for item in server.items()] == [2]


def test_reset_amid_the_body_sends_a_part(server: DevServer, client: httpx.Client) -> None:
    server.faults.set(Fault("reset_body"))
    with client.stream("POST", RECALL, json=ASKED) as response:
        assert response.status_code == 200
        with pytest.raises(seen_as(server)):
            response.read()


def test_clean_end_amid_the_body_is_an_incomplete_answer(
    server: DevServer, client: httpx.Client
) -> None:
    server.faults.set(Fault("reset_body", clean=True))
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
        recall(client, "green tea")


def test_drip_sends_the_body_byte_by_byte(server: DevServer) -> None:
    server.faults.set(Fault("drip", interval_s=0.02))
    with connect(server.url, server.ca_file) as sock:
        sock.sendall(post(RECALL, ASKED, X_API_Key="key"))
        received = list(chunks(sock))
    head, _, body = b"".join(received).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert body == b'{"context":"","memories":[]}'
    assert sum(len(chunk) == 1 for chunk in received) >= len(body) // 2


def test_drip_of_the_head_begins_with_its_first_byte(server: DevServer) -> None:
    server.faults.set(Fault("drip", interval_s=0.01, head=True))
    with connect(server.url, server.ca_file) as sock:
        sock.sendall(post(RECALL, ASKED, X_API_Key="key"))
        received = list(chunks(sock))
    assert received[0] == b"H"
    answer = b"".join(received)
    assert answer.endswith(b'\r\n\r\n{"context":"","memories":[]}')
    assert b"\r\nx-request-id: req_" in answer


def test_status_has_the_services_error_shape(server: DevServer, client: httpx.Client) -> None:
    server.faults.set(Fault("status", status=503, retry_after_s=2))
    response = recall(client, "green tea")
    assert response.status_code == 503
    assert response.json() == {"detail": "Service Unavailable"}
    assert response.headers["Retry-After"] == "2"
    assert search(client, "tea").json()["error"]["status"] == 503


def test_malformed_is_a_body_that_breaks_off(server: DevServer, client: httpx.Client) -> None:
    server.faults.set(Fault("malformed"))
    response = recall(client, "green tea")
    assert (response.status_code, response.text) == (200, '{"memories": [')


def test_huge_is_json_of_more_than_two_mebibytes(server: DevServer, client: httpx.Client) -> None:
    server.faults.set(Fault("huge"))
    response = recall(client, "green tea")
    assert len(response.content) == 2 * 1024 * 1024 + 1
    assert response.json()["memories"] == []


def test_rate_limit_tells_when_to_come_again(server: DevServer, client: httpx.Client) -> None:
    server.faults.set(Fault("rate_limit", retry_after_s=3))
    assert recall(client, "green tea").headers["Retry-After"] == "3"
    response = search(client, "tea")
    assert (response.status_code, response.headers["Retry-After"]) == (429, "3")
    assert response.json()["error"]["code"] == "RATE_LIMIT_EXCEEDED"


def test_retry_after_can_be_a_date_or_stand_in_the_body(
    server: DevServer, client: httpx.Client
) -> None:
    server.faults.set(Fault("rate_limit", retry_after_s=3, retry_after_as="date"))
    assert recall(client, "green tea").headers["Retry-After"].endswith(" GMT")
    server.faults.set(Fault("rate_limit", retry_after_s=3, retry_after_as="body"))
    response = recall(client, "green tea")
    assert "Retry-After" not in response.headers
    assert response.json()["error"]["retry_after"] == 3


def test_quota_faults_answer_as_the_service_does(server: DevServer, client: httpx.Client) -> None:
    server.faults.set(Fault("silent_quota"))
    assert remember(client, "I like green tea").json()["processing_status"] == "skipped"
    server.faults.set(Fault("strict_quota"))
    assert remember(client, "I like green tea").status_code == 429
    assert recall(client, "tea").json()["detail"]["error"] == "limit_exceeded"
    assert create(client, "I like green tea", "k").status_code == 402
    assert server.items() == ()


def test_fault_strikes_only_its_routes(server: DevServer, client: httpx.Client) -> None:
    server.faults.set(Fault("status", "writes", status=500))
    assert remember(client, "I like green tea").status_code == 500
    assert recall(client, "tea").status_code == 200
    server.faults.set(Fault("status", "rekall", status=500))
    assert search(client, "tea").status_code == 500
    assert recall(client, "tea").status_code == 200


def test_first_attempt_of_each_write_fails_and_the_next_succeeds(
    server: DevServer, client: httpx.Client
) -> None:
    server.faults.set(Fault("status", "writes", status=500, first_attempt=True))
    for text in ("I like green tea", "I live in Oslo"):
        assert [remember(client, text).status_code for _ in range(2)] == [500, 201]
        assert [create(client, "x", text).status_code for _ in range(2)] == [500, 201]
    assert [item.deliveries for item in server.items()] == [1] * 4


def test_first_attempts_of_two_users_are_two_writes(
    server: DevServer, client: httpx.Client
) -> None:
    server.faults.set(Fault("status", "writes", status=500, first_attempt=True))
    statuses = [
        client.post("/memory/add", json={"text": "I own a dog"}, headers={"X-End-User-ID": user})
        for user in ("ada", "bob", "ada", "bob")
    ]
    assert [answer.status_code for answer in statuses] == [500, 500, 200, 200]


def test_status_after_storing_lies_about_the_write(server: DevServer, client: httpx.Client) -> None:
    server.faults.set(Fault("status", "writes", status=500, stored=True, times=1))
    assert remember(client, "I like green tea").status_code == 500
    assert remember(client, "I like green tea").json()["already_exists"] is True


def test_flapping_alternates_by_requests(server: DevServer, client: httpx.Client) -> None:
    server.faults.set(Fault("status", status=503, flap_requests=(2, 1)))
    assert [recall(client, "tea").status_code for _ in range(6)] == [503, 503, 200] * 2


def test_delays_add_up_to_the_fault_that_ends_the_request(
    server: DevServer, client: httpx.Client
) -> None:
    server.faults.set(Fault("delay", delay_s=0.01), Fault("status", status=502))
    server.faults.add(Fault("delay", delay_s=0.01))
    assert recall(client, "tea").status_code == 502


def test_silent_connects_and_answers_when_the_silence_ends(server: DevServer) -> None:
    server.faults.set(Fault("silent"))
    with connect(server.url) as sock:
        if server.ca_file is None:
            sock.sendall(post(RECALL, ASKED, X_API_Key="key"))
        sock.settimeout(0.3)
        with pytest.raises(TimeoutError):
            sock.recv(1)
        server.faults.clear()
        with client_of(server) as client:
            assert recall(client, "tea").status_code == 200
        if server.ca_file is None:
            sock.settimeout(5.0)
            assert sock.recv(15) == b"HTTP/1.1 200 OK"


def test_silent_hangs_on_open_connections_too(server: DevServer) -> None:
    with client_of(server, timeout_s=0.5) as client:
        assert recall(client, "tea").status_code == 200
        server.faults.set(Fault("silent"))
        with pytest.raises(httpx.ReadTimeout):
            recall(client, "tea")


def test_refuse_takes_no_connection_and_heals_on_the_same_port(
    server: DevServer, client: httpx.Client
) -> None:
    assert recall(client, "tea").status_code == 200
    server.faults.set(Fault("refuse"))
    with pytest.raises(httpx.TransportError):
        recall(client, "tea")
    with pytest.raises(httpx.ConnectError):
        recall(client, "tea")
    server.faults.clear()
    assert recall(client, "tea").status_code == 200
    assert server.state().requests[Route.MEMORYSYNC_RECALL] == 2


def test_refuse_for_a_time_ends_by_itself(server: DevServer, client: httpx.Client) -> None:
    server.faults.set(Fault("refuse", for_s=0.2))
    with pytest.raises(httpx.ConnectError):
        recall(client, "tea")
    wait_until_it_listens(server.url)
    assert recall(client, "tea").status_code == 200
