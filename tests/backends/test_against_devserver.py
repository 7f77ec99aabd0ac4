"""Both codecs over real HTTP: every call of both services, sent by plain httpx and read back."""

from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from memotel.backends import Backend, MemorySyncBackend, RekallBackend
from memotel.backends.pace import read_pace
from memotel.devserver import (
    REKALL_FREE,
    DevServer,
    Fault,
    FaultKind,
    Permission,
    QuotaMode,
    RateLimit,
    RetryAfter,
    Service,
)
from memotel.devserver.shapes import (
    Envelope,
    ErrorShape,
    QuotaEvidence,
    ScoreField,
    Shapes,
    TextField,
)
from memotel.errors import (
    AuthenticationError,
    InvalidRequestError,
    QuotaExceededError,
    RateLimitedError,
    ResponseFormatError,
    ServiceError,
    ServiceUnavailableError,
)
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.outcomes import Adapter, Speaker, WriteOutcome
from memotel.outcomes import QuotaEvidence as Evidence
from memotel.values import Memories, Recall, Save, Scope, Search, Turn, Write, WriteAnswer

SCOPE = Scope("ada/ü?", "s1")
TURN = Turn(SCOPE, Speaker.HUMAN, "I love green tea", metadata={"importance": 0.7})
WRITE = Write(TURN, key="a" * 32, account="x", accepted_at=1.0, adapter=Adapter.AG2)


class Wire:
    """Sends what a codec builds, with plain httpx, and lets the codec read the answer."""

    def __init__(self, codec: Backend, client: httpx.Client, key: str) -> None:
        self.codec = codec
        self.key = key
        self.tenant: str | None = None
        self._client = client

    def send(self, request: HttpRequest) -> HttpResponse:
        headers = [*self.codec.credential_headers(self.key), *request.headers]
        answered = self._client.request(
            request.method, request.path, content=request.body, headers=headers
        )
        return HttpResponse(answered.status_code, dict(answered.headers), answered.content)

    def look_up(self) -> str:
        self.tenant = self.codec.read_tenant(self.send(self.codec.tenant_request()))
        return self.tenant

    def recall(self, prompt: str = "green tea") -> Memories:
        request = self.codec.recall_request(Recall(SCOPE, prompt), self.tenant)
        return self.codec.read_recall(self.send(request))

    def search(self, query: str = "green tea") -> Memories:
        request = self.codec.search_request(Search(SCOPE, query), self.tenant)
        return self.codec.read_search(self.send(request))

    def write(self, text: str = TURN.text, *, write: Write = WRITE) -> WriteAnswer:
        write = write._replace(turn=replace(write.turn, text=text))
        return self.codec.read_write(self.send(self.codec.write_request(write, self.tenant)))

    def save(self, text: str) -> WriteAnswer:
        request = self.codec.save_request(Save(Scope("ada", "s1"), text), self.tenant)
        return self.codec.read_save(self.send(request))


@pytest.fixture(scope="module")
def running() -> Iterator[DevServer]:
    with DevServer() as server:
        yield server


@pytest.fixture
def server(running: DevServer) -> DevServer:
    running.reset()
    return running


@pytest.fixture
def client(server: DevServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, trust_env=False, timeout=20.0) as client:
        yield client


@pytest.fixture
def rekall(client: httpx.Client) -> Wire:
    return Wire(RekallBackend(), client, "rk_test")


@pytest.fixture
def memorysync(client: httpx.Client) -> Wire:
    wire = Wire(MemorySyncBackend("proj_0123456789abcdef"), client, "ms_test")
    wire.look_up()
    return wire


@pytest.fixture(params=["rekall", "memorysync"])
def wire(request: pytest.FixtureRequest) -> Wire:
    either: Wire = request.getfixturevalue(request.param)
    return either


def outcome_and_evidence(answer: WriteAnswer) -> tuple[WriteOutcome, Evidence | None]:
    return answer.outcome, answer.evidence


STORED = (WriteOutcome.STORED, Evidence.HEALTHY)
OVER = (WriteOutcome.QUOTA, Evidence.SILENT)


def test_what_was_written_is_recalled_and_found(wire: Wire) -> None:
    assert wire.recall().is_empty()
    written = wire.write()
    assert outcome_and_evidence(written) == STORED
    assert written.request_id
    for memories in (wire.recall(), wire.search()):
        [memory] = memories.items
        assert memory.text == "I love green tea"
        assert memory.id
        assert memory.score is not None
        assert memories.request_id


def test_the_same_write_again_is_a_duplicate_and_stored_once(wire: Wire, server: DevServer) -> None:
    wire.write()
    again = wire.write()
    assert outcome_and_evidence(again) == (WriteOutcome.DUPLICATE, None)
    [item] = server.items()
    assert item.deliveries == 2


def test_words_said_again_on_purpose_are_stored_again(wire: Wire, server: DevServer) -> None:
    wire.write()
    second = WRITE._replace(key="b" * 32, occurrence=2)
    assert wire.write(write=second).outcome is WriteOutcome.STORED
    assert len(server.items()) == 2


def test_saved_text_is_found(wire: Wire) -> None:
    saved = wire.save("Ada plays the flute")
    assert outcome_and_evidence(saved) == STORED
    assert saved.record_id


def test_longest_words_are_taken(wire: Wire) -> None:
    assert wire.write("tea " * 12_500).outcome is WriteOutcome.STORED


def test_odd_characters_arrive(wire: Wire) -> None:
    assert wire.write("tea \x00\ud83d\U0001f375 ünï").outcome is WriteOutcome.STORED
    [memory] = wire.recall("tea").items
    assert memory.text == "tea \x00\ufffd\U0001f375 ünï"


def test_unknown_key_is_an_authentication_error(wire: Wire, server: DevServer) -> None:
    wire.key = f"{wire.key}_revoked"
    server.revoke(wire.key)
    for call in (wire.recall, wire.write):
        with pytest.raises(AuthenticationError) as caught:
            call()
        assert caught.value.status_code == 401
        assert caught.value.request_id


def test_key_without_permission_is_an_authentication_error(wire: Wire, server: DevServer) -> None:
    wire.key = f"{wire.key}_reader"
    server.permit(wire.key, Permission.READ)
    wire.tenant = "default"
    with pytest.raises(AuthenticationError) as caught:
        wire.write()
    assert caught.value.status_code == 403


@pytest.mark.parametrize("told_as", RetryAfter)
@pytest.mark.parametrize("status", [429, 503])
def test_wait_is_read_wherever_it_is_told(
    wire: Wire, server: DevServer, status: int, told_as: RetryAfter
) -> None:
    fault = Fault(
        FaultKind.STATUS, "recalls", status=status, retry_after_s=30.0, retry_after_as=told_as
    )
    server.faults.set(fault)
    with pytest.raises(ServiceError) as caught:
        wire.recall()
    kind = RateLimitedError if status == 429 else ServiceUnavailableError
    assert type(caught.value) is kind
    assert caught.value.retry_after_s == pytest.approx(30.0, abs=1.5)  # a date has whole seconds


@pytest.mark.parametrize("shape", ErrorShape)
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (302, ServiceUnavailableError),
        (400, InvalidRequestError),
        (404, InvalidRequestError),
        (413, InvalidRequestError),
        (422, InvalidRequestError),
        (500, ServiceUnavailableError),
        (502, ServiceUnavailableError),
    ],
)
def test_error_status_becomes_its_kind(
    wire: Wire, server: DevServer, status: int, kind: type[ServiceError], shape: ErrorShape
) -> None:
    server.set_shapes(Shapes(error=shape))
    server.faults.set(Fault(FaultKind.STATUS, status=status))
    for call in (wire.recall, wire.search, wire.write):
        with pytest.raises(ServiceError) as caught:
            call()
        assert type(caught.value) is kind
        assert caught.value.status_code == status


def test_broken_body_is_a_format_error(wire: Wire, server: DevServer) -> None:
    server.faults.set(Fault(FaultKind.MALFORMED))
    for call in (wire.recall, wire.search, wire.write):
        with pytest.raises(ResponseFormatError):
            call()


def test_rate_limit_of_the_service_is_told(wire: Wire, server: DevServer) -> None:
    server.set_rate_limit(RateLimit(per_min=1))
    wire.recall()
    with pytest.raises(RateLimitedError) as caught:
        wire.recall()
    assert caught.value.retry_after_s is not None
    assert 0 < caught.value.retry_after_s <= 60


def test_rekall_pace_is_read(rekall: Wire, server: DevServer) -> None:
    server.set_rate_limit(REKALL_FREE, Service.REKALL)
    request = rekall.codec.recall_request(Recall(SCOPE, "tea"), None)
    pace = read_pace(rekall.send(request))
    assert pace is not None
    assert pace.limit is not None
    assert pace.remaining == pace.limit - 1
    assert pace.window_s == 60
    assert pace.reset_at_s is not None


@pytest.mark.parametrize("score", ScoreField)
@pytest.mark.parametrize("envelope", Envelope)
def test_rekall_reads_every_shape(
    rekall: Wire, server: DevServer, envelope: Envelope, score: ScoreField
) -> None:
    server.set_shapes(Shapes(envelope=envelope, score=score))
    assert rekall.write().record_id
    [memory] = rekall.search().items
    assert memory.score is not None
    assert memory.metadata["importance"] == 0.7
    assert memory.metadata["session_id"] == "s1"


def test_rekall_quota_is_said(rekall: Wire, server: DevServer) -> None:
    server.set_quota(0, QuotaMode.STRICT, Service.REKALL)
    with pytest.raises(QuotaExceededError) as caught:
        rekall.write()
    assert caught.value.status_code == 402


def test_rekall_refuses_a_save_that_is_too_long(rekall: Wire) -> None:
    with pytest.raises(InvalidRequestError):
        rekall.save("x" * 50_001)


def test_rekall_takes_the_part_of_a_turn_that_it_has_room_for(rekall: Wire) -> None:
    answer = rekall.write("x" * 50_001)
    assert (answer.outcome, answer.record["content"]) == (WriteOutcome.STORED, "x" * 50_000)


def test_memorysync_tenant_is_the_projects(memorysync: Wire) -> None:
    assert memorysync.tenant
    assert memorysync.tenant.startswith("tenant_")


def test_memorysync_tenant_is_refused_to_a_key_without_that_scope(
    memorysync: Wire, server: DevServer
) -> None:
    memorysync.key = "ms_narrow"
    server.permit("ms_narrow", Permission.READ, Permission.WRITE)
    with pytest.raises(AuthenticationError):
        memorysync.look_up()


def test_memorysync_recall_has_a_ready_block(memorysync: Wire) -> None:
    memorysync.write()
    assert memorysync.recall().context == "- I love green tea"


@pytest.mark.parametrize("text", TextField)
def test_memorysync_reads_every_shape(memorysync: Wire, server: DevServer, text: TextField) -> None:
    server.set_shapes(Shapes(text=text))
    memorysync.write()
    [memory] = memorysync.search().items
    assert memory.text == "I love green tea"


def test_memorysync_lists_a_users_memories(memorysync: Wire) -> None:
    memorysync.write()
    codec = memorysync.codec
    assert isinstance(codec, MemorySyncBackend)
    assert memorysync.tenant
    response = memorysync.send(codec.list_request(SCOPE, memorysync.tenant, 10))
    [memory] = codec.read_search(response).items
    assert memory.text == "I love green tea"
    assert memory.score is None


@pytest.mark.parametrize(
    ("text", "speaker"), [("thanks", Speaker.HUMAN), ("The weather is fine.", Speaker.AI)]
)
def test_memorysync_ignores(memorysync: Wire, text: str, speaker: Speaker) -> None:
    turn = replace(TURN, speaker=speaker)
    answer = memorysync.write(text, write=WRITE._replace(turn=turn))
    assert outcome_and_evidence(answer) == (WriteOutcome.IGNORED, None)


def test_memorysync_ignores_an_add_that_holds_nothing(memorysync: Wire) -> None:
    answer = memorysync.save("ok")
    assert outcome_and_evidence(answer) == (WriteOutcome.IGNORED, None)
    assert answer.record["reason"]


@pytest.mark.parametrize("evidence", QuotaEvidence)
def test_memorysync_silent_quota_is_seen_in_writes_alone(
    memorysync: Wire, server: DevServer, evidence: QuotaEvidence
) -> None:
    server.set_shapes(Shapes(quota_evidence=evidence))
    server.set_quota(0)
    assert outcome_and_evidence(memorysync.write()) == OVER
    assert outcome_and_evidence(memorysync.save("Ada plays the flute")) == OVER
    assert memorysync.recall().is_empty()
    assert memorysync.search().is_empty()
    server.set_quota(None)
    assert outcome_and_evidence(memorysync.write()) == STORED


def test_memorysync_strict_quota_is_an_error_on_every_call(
    memorysync: Wire, server: DevServer
) -> None:
    server.set_quota(0, QuotaMode.STRICT)
    for call in (memorysync.recall, memorysync.search, memorysync.write):
        with pytest.raises(QuotaExceededError) as caught:
            call()
        assert (caught.value.status_code, caught.value.code) == (429, "limit_exceeded")


def test_memorysync_add_without_a_user_is_answered_with_its_code(memorysync: Wire) -> None:
    request = memorysync.codec.save_request(Save(Scope("ada"), "likes tea"), None)
    with pytest.raises(InvalidRequestError) as caught:
        memorysync.codec.read_save(memorysync.send(replace(request, headers=())))
    assert (caught.value.status_code, caught.value.code) == (400, "MISSING_END_USER_ID")


def test_memorysync_names_an_invalid_field_by_status_alone(memorysync: Wire) -> None:
    request = memorysync.codec.recall_request(Recall(SCOPE, ""), memorysync.tenant)
    with pytest.raises(InvalidRequestError) as caught:
        memorysync.codec.read_recall(memorysync.send(request))
    assert caught.value.status_code == 422
