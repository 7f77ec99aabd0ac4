"""The memory client end to end against the development server, in its plain case."""

import asyncio
import gc
import os
from collections.abc import Iterator

import pytest
from clients import MakeClient, making_clients
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memotel import (
    Adapter,
    AuthenticationError,
    ConfigurationError,
    InvalidRequestError,
    MemoryClient,
    MemotelError,
    Outcome,
    Provider,
    Scope,
    Speaker,
    Turn,
    resolve,
    runtime,
)
from memotel.counts import Count
from memotel.devserver import DevServer, Fault, Route
from memotel.telemetry.instruments import install
from memotel.values import ReceiptStatus

ADA, BEN = Scope("ada", "s1"), Scope("ben", "s1")


def told(text: str, scope: Scope = ADA, speaker: Speaker = Speaker.HUMAN) -> Turn:
    return Turn(scope, speaker, text, source="test")


@pytest.fixture
def server() -> Iterator[DevServer]:
    with DevServer() as server:
        yield server


@pytest.fixture(params=[Provider.MEMORYSYNC, Provider.REKALL])
def make_client(request: pytest.FixtureRequest, server: DevServer) -> Iterator[MakeClient]:
    with making_clients(request.param, server, close_s=1.0) as make:
        yield make


def test_client_recalls_what_was_written(make_client: MakeClient) -> None:
    client = make_client()

    receipt = client.write(told("My favourite tea is Assam, without sugar."))
    report = client.flush(10)
    result = client.recall(ADA, "Which tea is my favourite?")

    assert receipt.status is ReceiptStatus.ACCEPTED
    assert (report.delivered, report.pending, report.failed) == (1, 0, 0)
    assert result.outcome is Outcome.HIT
    assert "Assam" in result.context


def test_client_recalls_on_any_event_loop(make_client: MakeClient) -> None:
    client = make_client()
    client.write(told("My favourite tea is Assam, without sugar."))
    client.flush(10)

    outcomes = [
        asyncio.run(client.arecall(ADA, "Which tea is my favourite?")).outcome for _ in range(3)
    ]

    assert outcomes == [Outcome.HIT] * 3


def test_client_says_empty_where_nothing_is_relevant(make_client: MakeClient) -> None:
    result = make_client().recall(ADA, "Which tea is my favourite?")

    assert (result.outcome, result.context) == (Outcome.EMPTY, "")


def test_client_skips_a_short_prompt_without_a_request(
    make_client: MakeClient, server: DevServer
) -> None:
    assert make_client().recall(ADA, "hi").outcome is Outcome.SKIPPED
    assert server.state().requests[Route.MEMORYSYNC_RECALL] == 0
    assert server.state().requests[Route.REKALL_SEARCH] == 0


def test_client_search_returns_the_services_records(make_client: MakeClient) -> None:
    client = make_client()
    client.write(told("My favourite tea is Assam, without sugar."))
    client.flush(10)

    found = client.search(ADA, "favourite tea")

    assert "Assam" in found.items[0].text
    assert found.items[0].score is not None
    assert 0 <= found.items[0].score <= 1
    assert found.items[0].record


def test_client_search_refuses_an_empty_query(make_client: MakeClient) -> None:
    with pytest.raises(InvalidRequestError, match="query"):
        make_client().search(ADA, "  ")


def test_client_saves_and_answers_with_the_record(make_client: MakeClient) -> None:
    client = make_client()

    answer = client.save(ADA, "My sister Mary lives in Lisbon.", source="test")

    assert answer.record["id"]
    assert "Lisbon" in client.recall(ADA, "Where does my sister Mary live?").context


def test_client_raises_typed_errors_from_explicit_calls(
    make_client: MakeClient, server: DevServer
) -> None:
    server.revoke("rk_1")
    client = make_client()

    with pytest.raises(AuthenticationError):
        client.search(ADA, "favourite tea")
    assert client.recall(ADA, "Which tea is my favourite?").outcome is Outcome.REJECTED


def test_client_reads_a_rotated_key_file_again(
    make_client: MakeClient, server: DevServer, tmp_path: os.PathLike[str]
) -> None:
    path = os.path.join(tmp_path, "key")  # noqa: PTH118 # a plain path, as users pass it
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 # as above
        file.write("rk_old")
    client = make_client(api_key=None, api_key_file=path)
    assert client.recall(ADA, "Which tea is my favourite?").outcome is Outcome.EMPTY

    server.revoke("rk_old")
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 # as above
        file.write("rk_new")

    assert client.recall(ADA, "Which tea is my favourite?").outcome is Outcome.EMPTY


def test_client_asks_a_callable_for_its_key(make_client: MakeClient, server: DevServer) -> None:
    keys = iter(["rk_old", "rk_new"])

    async def key() -> str:
        return next(keys)

    client = make_client(api_key=key)
    assert client.recall(ADA, "Which tea is my favourite?").outcome is Outcome.EMPTY
    server.revoke("rk_old")

    assert client.recall(ADA, "Which tea is my favourite?").outcome is Outcome.EMPTY


def test_clients_of_two_users_never_share_words(make_client: MakeClient) -> None:
    client = make_client()
    for scope, tea in ((ADA, "Assam"), (BEN, "Darjeeling")):
        client.write(told(f"My favourite tea is {tea}, without sugar.", scope))
    client.flush(10)

    if client.provider is Provider.MEMORYSYNC:
        assert "Darjeeling" not in client.recall(ADA, "Which tea is my favourite?").context
        assert "Assam" not in client.recall(BEN, "Which tea is my favourite?").context
    keys = [
        make_client(api_key=key).recall(ADA, "Which tea is my favourite?").outcome
        for key in ("rk_1", "rk_2")
    ]
    assert keys[0] is Outcome.HIT
    if client.provider is Provider.REKALL:
        assert keys[1] is Outcome.EMPTY


def test_client_paused_does_nothing(make_client: MakeClient, server: DevServer) -> None:
    client = make_client()

    with client.paused():
        assert client.recall(ADA, "Which tea is my favourite?").outcome is Outcome.SKIPPED
        assert client.write(told("My favourite tea is Assam.")).status is ReceiptStatus.REFUSED

    assert sum(server.state().requests.values()) == 0
    assert client.recall(ADA, "Which tea is my favourite?").outcome is Outcome.EMPTY


def test_client_switched_off_does_nothing_and_needs_no_key(
    make_client: MakeClient, server: DevServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOTEL_DISABLED", "all")
    client = make_client(api_key=None)

    assert client.recall(ADA, "Which tea is my favourite?").outcome is Outcome.SKIPPED
    assert client.write(told("My favourite tea is Assam.")).status is ReceiptStatus.REFUSED
    assert sum(server.state().requests.values()) == 0


def test_client_redacts_what_leaves(make_client: MakeClient, server: DevServer) -> None:
    client = make_client(redact=lambda text: text.replace("secret", "[redacted]"))

    client.write(told("My favourite secret tea is Assam."))
    client.flush(10)
    client.recall(ADA, "Which secret tea is my favourite?")

    bodies = [str(request.body) for route in Route for request in server.requests(route)]
    assert any("[redacted]" in body for body in bodies)
    assert not any("secret" in body for body in bodies)


def test_client_sends_nothing_where_redaction_forbids_or_fails(
    make_client: MakeClient, server: DevServer, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(text: str) -> str:
        raise ValueError(text)

    for redact in (lambda _: None, broken):
        assert not caplog.records
        client = make_client(redact=redact, account=f"label-{redact.__name__}")
        assert client.recall(ADA, "Which tea is my favourite?").outcome is Outcome.SKIPPED
        assert client.write(told("My favourite tea is Assam.")).status is ReceiptStatus.REFUSED

    assert sum(server.state().requests.values()) == 0
    assert [record.event for record in caplog.records] == ["recall.failed", "writes.redact_failed"]
    assert "redact raised ValueError" in caplog.text
    assert "favourite" not in caplog.text


def test_client_filters_by_score_before_the_outcome_is_decided(make_client: MakeClient) -> None:
    client = make_client(min_score=1.0, account="strict")
    client.write(told("My favourite tea is Assam, without sugar."))
    client.flush(10)

    result = client.recall(ADA, "Which tea might one perhaps buy on holiday?")

    assert (result.outcome, result.context) == (Outcome.EMPTY, "")


def test_client_keeps_context_within_its_bound(make_client: MakeClient) -> None:
    client = make_client(max_context_chars=60, account="small")
    for number in range(5):
        client.write(told(f"My favourite tea number {number} is Assam from the far hills."))
    client.flush(10)
    before = client.counts.total(Count.TRUNCATED)

    result = client.recall(ADA, "Which tea is my favourite?")

    assert 0 < len(result.context) <= 60
    assert client.counts.total(Count.TRUNCATED) == before + 1


def test_client_names_an_empty_recall_a_quota_once_there_is_evidence(
    make_client: MakeClient, server: DevServer
) -> None:
    client = make_client()
    if client.provider is Provider.REKALL:
        pytest.skip("Rekall has no silent quota")
    server.faults.set(Fault("silent_quota"))
    assert client.recall(ADA, "Which tea is my favourite?").outcome is Outcome.EMPTY

    client.write(told("My favourite tea is Assam, without sugar."))
    client.flush(1.0)

    assert client.recall(ADA, "Which tea is my favourite?").outcome is Outcome.QUOTA
    server.faults.clear()


def test_client_counts_agree_with_what_callers_got(make_client: MakeClient) -> None:
    client = make_client()
    before = client.counts.total(Count.RECALLS, client.provider, Adapter.DIRECT)

    got = [client.recall(ADA, "Which tea is my favourite?").outcome for _ in range(5)]

    after = client.counts.total(Count.RECALLS, client.provider, Adapter.DIRECT)
    assert after - before == len(got)


def test_client_marks_what_it_cut_on_the_span(make_client: MakeClient) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    install().use_tracers(provider)
    try:
        client = make_client(max_prompt_chars=30, max_context_chars=60, account="cut")
        for number in range(5):
            client.write(told(f"My favourite tea number {number} is Assam from the far hills."))
        client.flush(10)
        client.recall(ADA, "Which tea is my favourite, of all that I have ever tasted?")
    finally:
        install().use_tracers(None)
        provider.shutdown()

    [span] = [s for s in exporter.get_finished_spans() if s.name == "search_memory"]
    assert span.attributes is not None
    assert span.attributes["memotel.truncated"] == ("prompt", "context")


def test_clients_of_one_account_each_keep_their_own_recall_policy(make_client: MakeClient) -> None:
    wide, narrow = make_client(), make_client(max_context_chars=40)
    assert wide.account == narrow.account
    for number in range(5):
        wide.write(told(f"My favourite tea number {number} is Assam from the far hills."))
    wide.flush(10)

    shown = [len(each.recall(ADA, "Which tea is my favourite?").context) for each in (wide, narrow)]

    assert shown[0] > 40 >= shown[1]


def test_clients_of_one_account_each_redact_as_they_were_told(
    make_client: MakeClient, server: DevServer
) -> None:
    plain, careful = (
        make_client(),
        make_client(redact=lambda text: text.replace("secret", "[redacted]")),
    )
    assert plain.account == careful.account

    plain.write(told("My favourite tea is Assam, without sugar."))
    careful.write(told("My favourite secret tea is Assam."))
    plain.flush(10)

    bodies = [str(request.body) for route in Route for request in server.requests(route)]
    assert any("[redacted]" in body for body in bodies)
    assert not any("secret" in body for body in bodies)


def test_client_that_is_closed_does_nothing_more(
    make_client: MakeClient, server: DevServer
) -> None:
    client = make_client()
    client.write(told("My favourite tea is Assam, without sugar."))
    client.close(10)
    sent = sum(server.state().requests.values())

    assert client.recall(ADA, "Which tea is my favourite?").outcome is Outcome.SKIPPED
    assert client.write(told("Something else to keep.")).status is ReceiptStatus.REFUSED
    assert client.flush(1).pending == 0
    assert client.stats().totals.accepted == 1
    assert not client.warm()
    for call in (client.search, client.save):
        with pytest.raises(MemotelError, match="closed"):
            call(ADA, "Which tea is my favourite?")
    assert sum(server.state().requests.values()) == sent


def test_client_paused_or_switched_off_neither_searches_nor_saves(
    make_client: MakeClient, server: DevServer
) -> None:
    client = make_client()

    with client.paused():
        assert client.search(ADA, "favourite tea").is_empty()
        assert client.save(ADA, "My sister Mary lives in Lisbon.").record == {}

    assert sum(server.state().requests.values()) == 0


@pytest.mark.parametrize("limit", [0, -3, True, "x"], ids=str)
def test_client_search_names_a_wrong_limit(make_client: MakeClient, limit: int) -> None:
    with pytest.raises(InvalidRequestError, match="limit"):
        make_client().search(ADA, "favourite tea", limit=limit)


def test_client_recall_of_no_text_is_skipped(make_client: MakeClient) -> None:
    assert make_client().recall(ADA, 5).outcome is Outcome.SKIPPED  # type: ignore[arg-type] # wrong on purpose


def test_account_with_a_label_uses_the_newest_key(
    make_client: MakeClient, server: DevServer
) -> None:
    old = make_client(api_key="rk_old", account="support")
    assert old.recall(ADA, "Which tea is my favourite?").outcome is Outcome.EMPTY
    server.revoke("rk_old")

    new = make_client(api_key="rk_new", account="support")

    assert new.account == old.account
    outcomes = {new.recall(ADA, "Which tea is my favourite?").outcome for _ in range(2)}
    assert Outcome.EMPTY in outcomes


def test_clients_dropped_without_close_leave_no_account_behind(
    make_client: MakeClient, server: DevServer
) -> None:
    provider = make_client().provider
    for number in range(200):
        settings = resolve(provider, Adapter.DIRECT, url=server.url, api_key=f"rk_{number}")
        MemoryClient(settings).write(told("hello there, keep this", Scope(f"u{number}", "s")))
        make_client().flush(0.0)
    gc.collect()
    waiting = [a for a in runtime.current().accounts.values() if a.writes is not None]
    for account in waiting:
        account.writes.flush(10)

    looks_again_at = runtime.current().sweep_at
    for number in range(200, 200 + looks_again_at):
        settings = resolve(provider, Adapter.DIRECT, url=server.url, api_key=f"rk_{number}")
        MemoryClient(settings).stats()

    assert len(runtime.current().accounts) < looks_again_at


def test_client_redacts_metadata_too(make_client: MakeClient, server: DevServer) -> None:
    client = make_client(redact=lambda text: text.replace("555", "[phone]"))
    turn = Turn(ADA, Speaker.HUMAN, "call me at 555", metadata={"note": "555", "more": ["555", 1]})

    client.write(turn)
    client.flush(10)
    client.save(ADA, "or at 555", metadata={"note": "555"})

    bodies = [str(request.body) for route in Route for request in server.requests(route)]
    assert any("[phone]" in body for body in bodies)
    assert not any("555" in body for body in bodies)


def test_client_asks_redact_anew_for_each_turn(make_client: MakeClient, server: DevServer) -> None:
    consents = iter([True, False])
    client = make_client(redact=lambda text: text if next(consents) else None)

    first = client.write(told("My favourite tea is Assam.", ADA))
    second = client.write(told("My favourite tea is Assam.", BEN))

    assert (first.status, second.status) == (ReceiptStatus.ACCEPTED, ReceiptStatus.REFUSED)


@pytest.mark.parametrize(
    ("place", "given", "reason"),
    [
        ("https://127.0.0.1:1", {"cert": "/no/such.pem"}, "cert cannot be used: /no/such.pem"),
        ("{server}/nowhere", {}, "check the URL"),
    ],
)
def test_client_says_once_in_the_log_why_recalls_are_refused(
    server: DevServer,
    caplog: pytest.LogCaptureFixture,
    place: str,
    given: dict[str, str],
    reason: str,
) -> None:
    url = place.format(server=server.url)
    settings = resolve(Provider.MEMORYSYNC, Adapter.DIRECT, url=url, api_key="hush", **given)  # type: ignore[arg-type] # as users pass them

    with caplog.at_level("WARNING", logger="memotel"), MemoryClient(settings) as client:
        outcomes = {client.recall(ADA, "Which tea do I like?").outcome for _ in range(3)}

    assert outcomes == {Outcome.REJECTED}
    (line,) = [record for record in caplog.records if record.__dict__["event"] == "recall.failed"]
    assert reason in line.getMessage()
    assert "hush" not in line.getMessage()
    assert "tea" not in line.getMessage()


@pytest.mark.parametrize("text", [5, None, "", " "], ids=repr)
def test_client_save_names_what_is_no_text(make_client: MakeClient, text: object) -> None:
    with pytest.raises(InvalidRequestError, match=r"^text must be a text that is not empty"):
        make_client().save(ADA, text)  # type: ignore[arg-type] # wrong on purpose


def test_client_needs_settings() -> None:
    with pytest.raises(ConfigurationError, match=r"settings must be what memotel\.resolve"):
        MemoryClient(5)  # type: ignore[arg-type] # wrong on purpose
