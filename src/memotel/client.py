"""The memory client: recall, search, save and write for one account, whatever framework stands above.

Every call exists once, asynchronously; the synchronous form drives the same coroutine, whose bridge then blocks
in the caller's thread instead of awaiting.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Self, cast

from memotel import runtime
from memotel.attachment import Attachment, attach
from memotel.backends import codec_for
from memotel.calls import Call
from memotel.config import ClientSettings, check
from memotel.counts import Count, Counts
from memotel.deadline import monotonic
from memotel.errors import InvalidRequestError, MemotelError
from memotel.facades import warn_once
from memotel.middleware.bridge import drive
from memotel.notices import Event, Notices, cause_of, notices_of, raised_by_redact, refusal_of
from memotel.outcomes import Operation, Outcome, Part, RefusalReason, Speaker, WriteOutcome
from memotel.policy.hygiene import Cut, clean, cut_prompt, redacted
from memotel.sharing import is_in_event_loop, share_loop
from memotel.telemetry.instruments import declare_client, install
from memotel.values import (
    FlushReport,
    Json,
    Memories,
    Recall,
    RecallResult,
    Receipt,
    ReceiptStatus,
    Save,
    Scope,
    Search,
    Turn,
    WriteAnswer,
)
from memotel.writes.redaction import redacted_values
from memotel.writes.stats import WriteStats

NOTHING_LEFT = FlushReport(delivered=0, pending=0, failed=0)

_is_paused: ContextVar[bool] = ContextVar("memotel_paused", default=False)


class MemoryClient:
    """Memory of one account at one service. Thread-safe; usable from any number of threads and event loops.

    Constructing it starts and opens nothing. After a fork it works at once, on the child's own loop and pool.
    """

    def __init__(self, settings: ClientSettings) -> None:
        given: object = settings
        check(
            isinstance(given, ClientSettings), "settings", given, "what memotel.resolve() returns"
        )
        self.settings = settings
        self.provider = settings.provider
        self.adapter = settings.adapter
        self._attachment: Attachment | None = None
        self._is_closed = False
        self._final: WriteStats | None = None
        install()
        warn_once()
        declare_client(self.counts, self.provider, self.adapter)

    def __repr__(self) -> str:
        return f"MemoryClient(provider={self.provider!s}, adapter={self.adapter!s}, url={self.settings.base_url!r})"

    @property
    def account(self) -> str:
        """The account key; it reveals no credential."""
        return self.settings.account

    @property
    def max_turn_chars(self) -> int:
        """The longest turn that the service keeps whole, in characters."""
        return codec_for(self.provider).max_turn_chars

    @property
    def counts(self) -> Counts:
        """The counters of this process."""
        return runtime.current().counts

    @property
    def notices(self) -> Notices:
        """What says changes of state and faults in the log, for all clients of the account."""
        return notices_of(self.provider, self.account)

    def recall(self, scope: Scope, prompt: str, *, agent: str | None = None) -> RecallResult:
        """Ask memory about `prompt`, blocking at most the recall budget. Raises nothing of memotel's.

        The outcome says what happened; `context` is empty unless it is `hit`.
        """
        if is_in_event_loop():
            self.counts.add(Count.LOOP_BLOCKED, self.provider)
        return drive(self._recall(scope, prompt, agent, is_blocking=True))

    async def arecall(self, scope: Scope, prompt: str, *, agent: str | None = None) -> RecallResult:
        """Ask memory about `prompt` without blocking the loop; only `CancelledError` passes.

        The budget runs from here on, also while the loop is shared with other recalls that begin now.
        """
        began_at = monotonic()
        try:
            await share_loop()
        except asyncio.CancelledError:
            self.counts.add(Count.RECALLS, self.provider, self.adapter, Outcome.CANCELLED)
            raise
        return await self._recall(scope, prompt, agent, is_blocking=False, began_at=began_at)

    def search(
        self, scope: Scope, query: str, *, limit: int | None = None, agent: str | None = None
    ) -> Memories:
        """Search memory, blocking at most `search_timeout`; raises `MemotelError`."""
        return drive(self._search(scope, query, limit, agent=agent, is_blocking=True))

    async def asearch(
        self, scope: Scope, query: str, *, limit: int | None = None, agent: str | None = None
    ) -> Memories:
        """Search memory; raises `MemotelError`."""
        return await self._search(scope, query, limit, agent=agent, is_blocking=False)

    def save(
        self,
        scope: Scope,
        text: str,
        *,
        source: str = "",
        metadata: Mapping[str, Json] | None = None,
    ) -> WriteAnswer:
        """Add one text and wait for the service's answer; raises `MemotelError`."""
        return drive(self._save(Save(scope, text, source, metadata or {}), is_blocking=True))

    async def asave(
        self,
        scope: Scope,
        text: str,
        *,
        source: str = "",
        metadata: Mapping[str, Json] | None = None,
    ) -> WriteAnswer:
        """Add one text and wait for the service's answer; raises `MemotelError`."""
        return await self._save(Save(scope, text, source, metadata or {}), is_blocking=False)

    def write(
        self,
        turn: Turn,
        *,
        history: Sequence[tuple[Speaker, str]] | None = None,
        at: int | None = None,
    ) -> Receipt:
        """Hand over a turn for delivery in the background; never waits for the network.

        `history` is the conversation that the caller can see; it tells a genuine repeat from the same utterance seen
        again. The turn is its last line; or, where it is all that was said by now, the line `at`. Raises
        `OutboxFullError` only with `on_full="raise"`.
        """
        if self._are_writes_off():
            return Receipt(ReceiptStatus.REFUSED)
        hold = self._attach()
        return hold.writes.accept(turn, self.adapter, history, at=at, redaction=hold.redaction)

    async def adeliver(self, turn: Turn, timeout_s: float = 5.0) -> WriteAnswer | None:
        """Hand over a turn and wait at most `timeout_s` for its end.

        Returns None where it is still on its way (accepted, not lost). Raises the service's definite rejection.
        """
        if self._are_writes_off():
            return WriteAnswer(WriteOutcome.DROPPED)
        hold = self._attach()
        return await hold.writes.deliver(turn, self.adapter, timeout_s, redaction=hold.redaction)

    def flush(self, timeout: float = 10.0) -> FlushReport:
        """Wait at most `timeout` seconds for this account's writes; report what is left. After `close`: nothing."""
        return NOTHING_LEFT if self._is_closed else self._attach().writes.flush(timeout)

    async def aflush(self, timeout: float = 10.0) -> FlushReport:
        """Wait at most `timeout` seconds for this account's writes, without blocking the loop."""
        return NOTHING_LEFT if self._is_closed else await self._attach().writes.aflush(timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Deliver what is pending within `timeout` seconds, and release the account where nobody else uses it.

        Afterwards nothing is recalled or accepted. Idempotent; raises nothing into a shutdown.
        """
        attachment = self._detach()
        if attachment is None or attachment.runtime.loop.is_current():
            return
        attachment.writes.flush(timeout)
        if attachment.release(self):
            attachment.writes.close(0.0)
        self._final = attachment.writes.stats()

    async def aclose(self, timeout: float = 5.0) -> None:
        """Do as `close` does, without blocking the loop."""
        attachment = self._detach()
        if attachment is None:
            return
        await attachment.writes.aflush(timeout)
        if attachment.release(self):
            await attachment.writes.aclose(0.0)
        self._final = attachment.writes.stats()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def warm(self, timeout: float = 5.0) -> bool:
        """Make ready what a first recall would wait for; return whether it is, within `timeout` seconds."""
        return drive(self._warm(timeout, is_blocking=True))

    async def awarm(self, timeout: float = 5.0) -> bool:
        """Make ready what a first recall would wait for, without blocking the loop."""
        return await self._warm(timeout, is_blocking=False)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Neither recall nor write in this thread or task while the block runs."""
        token = _is_paused.set(True)
        try:
            yield
        finally:
            _is_paused.reset(token)

    def stats(self) -> WriteStats:
        """Return the books of this account's writes and what the drain is doing; after `close`, as they ended."""
        return self._final or self._attach().writes.stats()

    def _detach(self) -> Attachment | None:
        """Close this client; return its hold on this process where it has one."""
        attachment, self._attachment = self._attachment, None
        self._is_closed = True
        is_ours = attachment is not None and attachment.runtime is runtime.current()
        return attachment if is_ours else None

    def _attach(self) -> Attachment:
        if self._is_closed:
            raise MemotelError("this memory is closed")
        attachment = self._attachment
        if attachment is None or attachment.runtime is not runtime.current():
            attachment = self._attachment = attach(self, self.settings)
        return attachment

    def _call(
        self,
        operation: Operation,
        request: Recall | Search | Save,
        *,
        is_blocking: bool,
        began_at: float | None = None,
    ) -> Call:
        policy = self.settings.recall
        budgets = {
            Operation.RECALL: policy.budget_s,
            Operation.SEARCH: policy.search_budget_s,
            Operation.SAVE: self.settings.writes.attempt_budget_s,
        }
        return Call(
            operation,
            request,
            provider=self.provider,
            adapter=self.adapter,
            budget_s=budgets[operation],
            is_blocking=is_blocking,
            began_at=began_at,
        )

    async def _recall(
        self,
        scope: Scope,
        prompt: str,
        agent: str | None,
        *,
        is_blocking: bool,
        began_at: float | None = None,
    ) -> RecallResult:
        policy = self.settings.recall
        shown = None if self._is_off() else self._presentable(prompt)
        if shown is None or len(shown.text) < policy.min_prompt_chars:
            self.counts.add(Count.RECALLS, self.provider, self.adapter, Outcome.SKIPPED)
            return RecallResult(Outcome.SKIPPED)
        request = Recall(scope, shown.text, policy.top_k, agent)
        call = self._call(Operation.RECALL, request, is_blocking=is_blocking, began_at=began_at)
        if shown.is_cut:
            call.cuts = (Part.PROMPT,)
            self.counts.add(Count.TRUNCATED, self.provider, Part.PROMPT)
        try:
            found = cast("Memories", await self._attach().handler(call))
        except Exception as error:  # noqa: BLE001 # a recall never raises: the settlement says what happened
            return RecallResult(self._outcome_of(call, error))
        return self._shown(found, cast("Outcome", call.future.result().outcome))

    def _outcome_of(self, call: Call, error: Exception) -> Outcome:
        """Return how a failed recall ended; log a wrong setting, a refusal, and a fault of our own, that by its type."""
        if call.on_settle is None:
            self.counts.add(Count.RECALLS, self.provider, self.adapter, Outcome.INTERNAL_ERROR)
        call.settle(Outcome.INTERNAL_ERROR, error=error)
        outcome = cast("Outcome", call.future.result().outcome)
        if refusal_of(error) or outcome is Outcome.INTERNAL_ERROR:
            told = f"{cause_of(error)}; the reply goes on without memories"
            self.notices.say(Event.RECALL_FAILED, told)
        return outcome

    def _shown(self, found: Memories, outcome: Outcome) -> RecallResult:
        if found.context:
            size = len(found.context.encode("utf-8", "replace"))
            self.counts.add(Count.CONTEXT_BYTES, self.provider, self.adapter, by=size)
        return RecallResult(outcome, found.items, found.context, found.request_id)

    async def _search(
        self, scope: Scope, query: str, limit: int | None, *, agent: str | None, is_blocking: bool
    ) -> Memories:
        if self._is_switched_off(Part.RECALL):
            return Memories()
        asked = self._presentable(query)
        if asked is None or not asked.text:
            reason = "query must be a text that is not empty, nor withheld by redact"
            raise InvalidRequestError(reason, status_code=0)
        count = self.settings.recall.top_k if limit is None else limit
        if not is_count(count):
            raise InvalidRequestError("limit must be a whole number from 1 up", status_code=0)
        request = Search(scope, asked.text, count, agent)
        call = self._call(Operation.SEARCH, request, is_blocking=is_blocking)
        return cast("Memories", await self._attach().handler(call))

    async def _save(self, request: Save, *, is_blocking: bool) -> WriteAnswer:
        if self._is_switched_off(Part.WRITES):
            return WriteAnswer(WriteOutcome.DROPPED)
        redact = self.settings.redact
        is_text = isinstance(request.text, str)
        text = redacted(request.text, redact) if is_text else None
        if text is None or not text.strip():
            reason = "text must be a text that is not empty, nor withheld by redact"
            raise InvalidRequestError(reason, status_code=0)
        metadata = redacted_values(request.metadata, lambda value: redacted(value, redact))
        kept = replace(request, text=text, metadata=metadata)
        call = self._call(Operation.SAVE, kept, is_blocking=is_blocking)
        return cast("WriteAnswer", await self._attach().handler(call))

    async def _warm(self, timeout_s: float, *, is_blocking: bool) -> bool:
        if self._is_closed:
            return False
        attachment = self._attach()
        if is_blocking and attachment.runtime.loop.is_current():
            raise MemotelError("warm() was called from memotel's own loop; use awarm()")
        future = attachment.runtime.loop.submit(attachment.warm(timeout_s))
        try:
            if is_blocking:
                return future.result(timeout_s)
            return await asyncio.wait_for(asyncio.wrap_future(future), timeout_s)
        except TimeoutError:
            return False

    def _is_switched_off(self, part: Part) -> bool:
        switches = self.settings.switches
        return _is_paused.get() or (switches.recall if part is Part.RECALL else switches.writes)

    def _is_off(self) -> bool:
        return self._is_closed or self.settings.switches.recall or _is_paused.get()

    def _are_writes_off(self) -> bool:
        if self._is_closed:
            self.counts.add(Count.REFUSED, self.provider, RefusalReason.CLOSED)
        elif self.settings.switches.writes or _is_paused.get():
            self.counts.add(Count.REFUSED, self.provider, RefusalReason.DISABLED)
        else:
            return False
        return True

    def _presentable(self, text: object) -> Cut | None:
        """Redact, clean and cut a prompt; None where redaction withholds it, or it is no text."""
        if not isinstance(text, str):
            return None
        allowed = redacted(
            text,
            self.settings.redact,
            lambda error: self.notices.say(Event.RECALL_FAILED, raised_by_redact(error)),
        )
        if allowed is None:
            return None
        return cut_prompt(clean(allowed).strip(), self.settings.recall.max_prompt_chars)


def is_count(value: object) -> bool:
    """Whether `value` is a whole number from 1 up."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
