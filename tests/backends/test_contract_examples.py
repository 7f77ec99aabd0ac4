"""One example of every answer that the two services document, and what it reads as."""

import pytest
from answers import answer

from memotel.backends import MemorySyncBackend, RekallBackend
from memotel.errors import (
    AuthenticationError,
    InvalidRequestError,
    MemotelError,
    QuotaExceededError,
    RateLimitedError,
    ResponseFormatError,
    ServiceError,
    ServiceUnavailableError,
)
from memotel.http.messages import HttpResponse
from memotel.outcomes import QuotaEvidence, WriteOutcome
from memotel.values import Memories, Memory

REKALL = RekallBackend()
MEMORYSYNC = MemorySyncBackend()

STORED = (WriteOutcome.STORED, QuotaEvidence.HEALTHY)
DUPLICATE = (WriteOutcome.DUPLICATE, None)
IGNORED = (WriteOutcome.IGNORED, None)
QUOTA = (WriteOutcome.QUOTA, QuotaEvidence.SILENT)

TEA = {"id": "mem_1", "content": "likes tea", "metadata": {"role": "user"}, "score": 0.9}


def turn(processing_status: str | None, *, already_exists: bool = False) -> HttpResponse:
    body = {
        "memory_id": None,
        "status": "processing",
        "processing_status": processing_status,
        "already_exists": already_exists,
        "request_id": "r1",
    }
    return answer(body, 201, x_request_id="r1")


@pytest.mark.parametrize(
    "body",
    [
        [TEA],
        {"data": [TEA]},
        {"results": [TEA]},
        {"memories": [TEA]},
        {"data": {"results": [TEA]}},
        {"data": {"memories": [TEA]}},
    ],
)
def test_rekall_search_reads_every_envelope(body: object) -> None:
    expected = Memory("mem_1", "likes tea", 0.9, {"role": "user"}, TEA)
    response = answer(body, x_request_id="req_1")
    assert REKALL.read_search(response) == Memories((expected,), request_id="req_1")
    assert REKALL.read_recall(response) == REKALL.read_search(response)


@pytest.mark.parametrize("body", [[], {"data": []}, {"results": None}, {"data": {"results": []}}])
def test_rekall_search_reads_emptiness(body: object) -> None:
    assert REKALL.read_search(answer(body)).is_empty()


@pytest.mark.parametrize("body", [{}, {"status": "ok"}, "text", 1, None, {"data": {"id": "m"}}])
def test_rekall_search_refuses_what_is_no_list(body: object) -> None:
    with pytest.raises(ResponseFormatError, match="no list of memories"):
        REKALL.read_search(answer(body))


@pytest.mark.parametrize("name", ["score", "relevance", "similarity"])
def test_rekall_score_reads_under_each_documented_name(name: str) -> None:
    [memory] = REKALL.read_search(answer([{"content": "x", name: 0.25}])).items
    assert memory.score == 0.25


@pytest.mark.parametrize("odd", [True, False, 1.01, -0.1, 87, "0.9", None, [], float("nan")])
def test_score_that_is_no_number_from_0_to_1_is_passed_over(odd: object) -> None:
    item = {"content": "x", "value": "x", "score": odd}
    assert REKALL.read_search(answer([item])).items[0].score is None
    assert MEMORYSYNC.read_search(answer({"memories": [item]})).items[0].score is None
    [fallback] = REKALL.read_search(answer([{**item, "similarity": 1}])).items
    assert fallback.score == 1.0


@pytest.mark.parametrize("odd", [None, "", " \n", 5, ["x"], {"text": "x"}])
def test_item_without_text_is_dropped(odd: object) -> None:
    items = [{"content": odd, "value": odd}, TEA, "likes tea", None, {**TEA, "value": "v"}]
    assert [m.text for m in REKALL.read_search(answer(items)).items] == ["likes tea"] * 2
    read = MEMORYSYNC.read_search(answer({"memories": items}))
    assert [memory.text for memory in read.items] == ["v"]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [("m_1", "m_1"), (12, "12"), ("", None), (None, None), (True, None), (1.5, None), ([], None)],
)
def test_id_of_a_memory_reads_as_text(sent: object, expected: str | None) -> None:
    body = {"memories": [{"memory_id": sent, "value": "x"}]}
    assert MEMORYSYNC.read_search(answer(body)).items[0].id == expected


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: {"data": m}], ids=["bare", "data"])
def test_rekall_write_reads_the_memory(wrap) -> None:
    memory = {"id": "mem_7", "type": "semantic", "content": "x", "created_at": "2026-11-02"}
    read = REKALL.read_write(answer(wrap(memory), 201, x_request_id="req_2"))
    assert (read.outcome, read.evidence) == STORED
    assert (read.record_id, read.record, read.request_id) == ("mem_7", memory, "req_2")
    assert REKALL.read_save(answer(wrap(memory), 201, x_request_id="req_2")) == read


def test_rekall_key_already_used_is_a_duplicate() -> None:
    error = {"error": {"code": "IDEMPOTENCY_KEY_REUSED", "status": 409, "request_id": "r"}}
    read = REKALL.read_write(answer(error, 409, x_request_id="r"))
    assert (read.outcome, read.evidence, read.request_id) == (*DUPLICATE, "r")


@pytest.mark.parametrize("body", [{}, {"data": {}}, [], {"id": ""}, {"content": "x"}])
def test_rekall_write_without_an_id_is_not_believed(body: object) -> None:
    with pytest.raises(ResponseFormatError):
        REKALL.read_write(answer(body, 201))


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "INVALID_MEMORY_TYPE", InvalidRequestError),
        (422, "validation_error", InvalidRequestError),
        (401, "UNAUTHORIZED", AuthenticationError),
        (403, "SCOPE_INSUFFICIENT", AuthenticationError),
        (404, "NOT_FOUND", InvalidRequestError),
        (409, "CONFLICT", InvalidRequestError),
        (413, "PAYLOAD_TOO_LARGE", InvalidRequestError),
        (429, "RATE_LIMIT_EXCEEDED", RateLimitedError),
        (429, "rate_limit_exceeded", RateLimitedError),
        (429, "MONTHLY_QUOTA_EXCEEDED", QuotaExceededError),
        (429, "monthly_limit_exceeded", QuotaExceededError),
        (403, "memory_limit_reached", QuotaExceededError),
        (402, "PAYMENT_REQUIRED", QuotaExceededError),
        (500, "INTERNAL_ERROR", ServiceUnavailableError),
    ],
)
def test_rekall_error_becomes_its_kind(status: int, code: str, kind: type[ServiceError]) -> None:
    details = {"limit": 100}
    error = {"code": code, "message": "m", "status": status, "details": details, "request_id": "q"}
    with pytest.raises(ServiceError) as caught:
        REKALL.read_search(answer({"error": error}, status, retry_after="7"))
    found = caught.value
    assert type(found) is kind
    assert (found.status_code, found.code, found.request_id) == (status, code, "q")
    assert found.retry_after_s == 7.0


def test_memorysync_tenant_is_the_first_projects() -> None:
    projects = [{"id": "proj_1", "tenant_id": "t_1"}, {"id": "proj_2", "tenant_id": "t_2"}]
    assert MEMORYSYNC.read_tenant(answer(projects)) == "t_1"


@pytest.mark.parametrize("status", [401, 403])
def test_memorysync_tenant_without_the_scope_is_an_authentication_error(status: int) -> None:
    with pytest.raises(AuthenticationError):
        MEMORYSYNC.read_tenant(answer({"detail": "Forbidden"}, status))


@pytest.mark.parametrize("body", [[], {}, [{}], [{"tenant_id": ""}], [{"tenant_id": 5}], [None]])
def test_memorysync_tenant_that_is_not_told_is_not_known(body: object) -> None:
    with pytest.raises(ResponseFormatError, match="tenant"):
        MEMORYSYNC.read_tenant(answer(body))


def test_memorysync_recall_reads_block_and_memories() -> None:
    item = {"memory_id": "m_12", "value": "likes tea", "score": 0.87}
    body = {"context": "- likes tea", "memories": [item]}
    memory = Memory("m_12", "likes tea", 0.87, {}, item)
    read = MEMORYSYNC.read_recall(answer(body, x_request_id="r"))
    assert read == Memories((memory,), "- likes tea", "r")


@pytest.mark.parametrize("body", [{"context": ""}, {"context": "", "memories": []}])
def test_memorysync_recall_reads_emptiness(body: object) -> None:
    assert MEMORYSYNC.read_recall(answer(body)).is_empty()


@pytest.mark.parametrize(
    "body", [{}, [], {"status": "ok"}, {"context": 5}, {"context": "", "memories": {}}]
)
def test_memorysync_recall_refuses_what_is_neither(body: object) -> None:
    with pytest.raises(ResponseFormatError):
        MEMORYSYNC.read_recall(answer(body))


@pytest.mark.parametrize("name", ["value", "text", "raw_text"])
def test_memorysync_query_reads_text_under_each_documented_name(name: str) -> None:
    body = {"memories": [{"memory_id": "m_12", name: "likes tea", "score": 0.87}]}
    [memory] = MEMORYSYNC.read_search(answer(body)).items
    assert (memory.id, memory.text, memory.score) == ("m_12", "likes tea", 0.87)
    assert memory.record == body["memories"][0]


@pytest.mark.parametrize("body", [{}, [], {"context": "x"}, {"memories": "x"}])
def test_memorysync_query_refuses_what_is_no_list(body: object) -> None:
    with pytest.raises(ResponseFormatError):
        MEMORYSYNC.read_search(answer(body))


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (turn("distilling"), STORED),
        (turn("completed"), STORED),
        (turn("skipped_replay", already_exists=True), DUPLICATE),
        (turn("skipped_non_user_turn"), IGNORED),
        (turn("skipped_low_value"), IGNORED),
        (turn("skipped"), QUOTA),
        (turn(None, already_exists=True), DUPLICATE),
        (turn(None), STORED),
        (turn("skipped_for_a_new_reason"), IGNORED),
        (turn("queued_in_a_new_way"), (WriteOutcome.STORED, None)),
        (answer({"memory_id": "m_3", "status": "ok"}), STORED),
        (answer({"status": "processing"}), STORED),
        (answer({"status": "skipped", "reason": "low value"}), IGNORED),
        (answer({"status": "ok"}), QUOTA),
        (answer({"status": "ok", "request_id": "r1"}), QUOTA),
        (answer({"status": "ok", "memory_id": None}), QUOTA),
    ],
)
def test_memorysync_turn_reads_as(response: HttpResponse, expected: object) -> None:
    read = MEMORYSYNC.read_write(response)
    assert (read.outcome, read.evidence) == expected


def test_memorysync_turn_keeps_the_answer() -> None:
    read = MEMORYSYNC.read_write(turn("distilling"))
    assert read.request_id == "r1"
    assert read.record["processing_status"] == "distilling"


def test_memorysync_turn_that_failed_may_be_sent_again() -> None:
    with pytest.raises(ServiceUnavailableError, match=r"201 \(failed\), request r1") as caught:
        MEMORYSYNC.read_write(turn("failed"))
    assert caught.value.is_retryable
    assert (caught.value.status_code, caught.value.code) == (201, "failed")
    with pytest.raises(ServiceUnavailableError):
        MEMORYSYNC.read_write(answer({"status": "failed"}))


@pytest.mark.parametrize(
    "body",
    [{}, [], "ok", {"message": "hello"}, {"processing_status": 5}, {"processing_status": ""}],
)
def test_memorysync_turn_without_a_word_on_it_is_not_believed(body: object) -> None:
    with pytest.raises(ResponseFormatError):
        MEMORYSYNC.read_write(answer(body, 201))


@pytest.mark.parametrize(
    ("body", "expected", "record_id"),
    [
        ({"id": 12, "text": "x"}, STORED, "12"),
        ({"id": "m_1", "text": "x", "status": "ok"}, STORED, "m_1"),
        ({"status": "skipped", "reason": "low value"}, IGNORED, None),
        ({"status": "ok"}, QUOTA, None),
    ],
)
def test_memorysync_add_reads_as(body: object, expected: object, record_id: str | None) -> None:
    read = MEMORYSYNC.read_save(answer(body))
    assert (read.outcome, read.evidence) == expected
    assert (read.record, read.record_id) == (body, record_id)


@pytest.mark.parametrize("body", [{}, [], {"status": "odd"}, {"id": None}, {"id": True}])
def test_memorysync_add_without_a_word_on_it_is_not_believed(body: object) -> None:
    with pytest.raises(ResponseFormatError):
        MEMORYSYNC.read_save(answer(body))


LIMIT = {"detail": {"error": "limit_exceeded", "message": "plan"}}


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (401, {"detail": "Invalid API key"}, AuthenticationError, None),
        (403, {"detail": "Forbidden"}, AuthenticationError, None),
        (404, {"detail": "Not Found"}, InvalidRequestError, None),
        (422, {"detail": [{"msg": "field required"}]}, InvalidRequestError, None),
        (
            400,
            {"detail": "MISSING_END_USER_ID: set the header"},
            InvalidRequestError,
            "MISSING_END_USER_ID",
        ),
        (400, {"detail": "MISSING_END_USER_ID"}, InvalidRequestError, "MISSING_END_USER_ID"),
        (409, {"detail": "conflict"}, InvalidRequestError, None),
        (429, LIMIT, QuotaExceededError, "limit_exceeded"),
        (429, {"detail": "Too many requests"}, RateLimitedError, None),
        (500, {"detail": "Internal Server Error"}, ServiceUnavailableError, None),
    ],
)
def test_memorysync_error_becomes_its_kind(
    status: int, body: object, kind: type[ServiceError], code: str | None
) -> None:
    with pytest.raises(ServiceError) as caught:
        MEMORYSYNC.read_write(answer(body, status, x_request_id="r9"))
    found = caught.value
    assert type(found) is kind
    assert (found.status_code, found.code, found.request_id) == (status, code, "r9")


def test_memorysync_wait_in_the_body_counts_without_a_header() -> None:
    body = {"error": {"message": "slow down", "retry_after": 3}}
    with pytest.raises(RateLimitedError) as caught:
        MEMORYSYNC.read_recall(answer(body, 429))
    assert caught.value.retry_after_s == 3.0


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"\xff", b'{"a":', b"[" * 5_000 + b"]" * 5_000, b"nul", b"{} {}"]
)
def test_body_that_is_no_json_is_a_format_error(body: bytes) -> None:
    readers = (
        REKALL.read_recall,
        REKALL.read_write,
        MEMORYSYNC.read_tenant,
        MEMORYSYNC.read_recall,
        MEMORYSYNC.read_search,
        MEMORYSYNC.read_write,
        MEMORYSYNC.read_save,
    )
    for read in readers:
        with pytest.raises(MemotelError) as caught:
            read(answer(body))
        assert type(caught.value) is ResponseFormatError
