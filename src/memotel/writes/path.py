"""The write path of one account: accept from any thread, deliver in the background, flush, close, account for all."""

import asyncio
import random
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial

from memotel.config import OutboxPolicy, Redact, WritePolicy
from memotel.counts import Counts, Gauge, Labels
from memotel.errors import OWN_LOOP, MemotelError, OutboxFullError
from memotel.notices import Notices
from memotel.outcomes import Adapter, DedupeKind, Provider, RefusalReason, WriteOutcome
from memotel.values import FlushReport, Receipt, ReceiptStatus, Turn, Write, WriteAnswer
from memotel.writes import exit as at_exit
from memotel.writes.books import Totals, flush_report
from memotel.writes.clocks import Clocks
from memotel.writes.deadletters import DeadLetter, DeadLetters
from memotel.writes.drain import Drain, Gates, Loop, Send
from memotel.writes.endings import Endings
from memotel.writes.history import History
from memotel.writes.host import Host
from memotel.writes.identity import Sightings
from memotel.writes.ledger import Ledger, NotTaken
from memotel.writes.notices import WriteNotices
from memotel.writes.outbox import Entry, MemoryOutbox, Outbox
from memotel.writes.redaction import Handed, Redaction
from memotel.writes.schedule import Schedule
from memotel.writes.stats import WriteStats, outbox_gauges
from memotel.writes.waiting import Deliveries, Ending, FlushWaiter, answer_of
from memotel.writes.withdrawal import unless_withdrawn

GRACE_S = 0.25
"""How long beyond its timeout a flush waits for the background loop to say so, before it counts for itself."""


class WritePath:
    """One account's writes, from accept to their end. Every public method may be called from any thread.

    Nothing starts before the first accepted write. After a fork the child must make its own (a fresh runtime does).

    Args:
        account: account key.
        provider: the service.
        policy: how the drain delivers.
        outbox_policy: how many writes may wait.
        counts: the process's counters.
        loop: the background loop; `send` runs on it.
        send: one delivery, within the call's deadline: the write delivery stack. It settles nothing.
        gates: what the drain gives way to.
        redact: run on the words before anything is kept; None or an exception = not stored.
        trace: `traceparent` of the current span, or None; called in the accepting context.
        is_enabled: False where writes are switched off.
        outbox: where the writes wait; None = in memory.
        clocks: the time.
        rng: a number from 0 to 1, for the jitter.
        drains_at_exit: False where the owner closes it before the process exits.
        on_unsent_end: called with each write that ended without a send of its own: too old, given up, dropped.
    """

    def __init__(
        self,
        account: str,
        provider: Provider,
        *,
        policy: WritePolicy,
        outbox_policy: OutboxPolicy,
        counts: Counts,
        loop: Loop,
        send: Send,
        gates: Gates | None = None,
        redact: Redact | None = None,
        trace: Callable[[], str | None] = lambda: None,
        is_enabled: bool = True,
        outbox: Outbox | None = None,
        clocks: Clocks | None = None,
        rng: Callable[[], float] = random.random,
        drains_at_exit: bool = True,
        on_unsent_end: Callable[[Write, WriteOutcome], object] = lambda *_: None,
    ) -> None:
        self.account = account
        self.provider = provider
        self.policy = policy
        self._outbox_policy = outbox_policy
        self._loop = loop
        self._trace = trace
        self._is_enabled = is_enabled
        self._drains_at_exit = drains_at_exit
        self._is_registered = False
        self._clocks = clocks or Clocks()
        self._sightings = Sightings(account)
        self._deliveries = Deliveries()
        self._notices = WriteNotices(
            Notices(
                provider,
                account,
                interval_s=outbox_policy.log_interval_s,
                clock=self._clocks.monotonic,
            )
        )
        self._redaction = Redaction(redact, self._notices)
        self._endings = Endings(
            sightings=self._sightings,
            deliveries=self._deliveries,
            notices=self._notices,
            on_unsent_end=on_unsent_end,
        )
        dead = DeadLetters(outbox_policy.max_dead_letters, outbox_policy.dead_letter_max_age_s)
        self._outbox = MemoryOutbox(dead, self._clocks.wall) if outbox is None else outbox
        gates = gates or Gates()
        self._ledger = Ledger(
            counts,
            provider,
            self._outbox,
            max_writes=outbox_policy.max_writes,
            max_bytes=outbox_policy.max_bytes,
            on_park=lambda entry: self._deliveries.tell(entry, WriteOutcome.QUOTA),
            callers=gates.callers,
        )
        self._max_parked = int(outbox_policy.max_writes * policy.max_parked_share)
        self._schedule = Schedule(
            policy, self._ledger, self._end, max_parked=self._max_parked, rng=rng
        )
        self._drain = Drain(
            provider,
            policy,
            loop=loop,
            send=unless_withdrawn(send, self._ledger, self._outbox, self._end),
            gates=gates,
            ledger=self._ledger,
            schedule=self._schedule,
            clock=self._clocks.monotonic,
        )
        self._counts = counts
        counts.add_source(self._gauges)

    def open(self) -> None:
        """Deliver what other processes left in a shared outbox, from now on. The owner of the path calls it once."""
        if self._drains_at_exit and self._outbox.survives_exit:
            at_exit.register(self)
        host = Host(
            account=self.account,
            provider=self.provider,
            counts=self._counts,
            ledger=self._ledger,
            sightings=self._sightings,
            max_parked=self._max_parked,
            plan=self._drain.put,
            wake=self._drain.look,
            end=self._end,
            monotonic=self._clocks.monotonic,
        )
        self._outbox.open(host)

    def redaction(self, redact: Redact | None) -> Redaction:
        """Return what one client redacts with."""
        return Redaction(redact, self._notices)

    @property
    def exit_drain_s(self) -> float:
        """The most that a normal exit may be held up for these writes, in seconds."""
        return self.policy.exit_drain_s

    def accept(
        self,
        turn: Turn,
        adapter: Adapter,
        history: History | None = None,
        *,
        at: int | None = None,
        redaction: Redaction | None = None,
    ) -> Receipt:
        """Take a turn in and return at once; it is delivered in the background.

        Args:
            turn: the words, as the adapter saw them.
            adapter: who hands it over.
            history: the lines (speaker, text) that the hook can see; None where it sees none.
            at: which line of `history` the turn is, where `history` is all that was said by now, lines after the turn
                included; None: the turn is the last, and more may have been said since.
            redaction: the client's own, where several clients of the account redact differently.

        Raises:
            OutboxFullError: the outbox is full and `on_full` is "raise".
        """
        handed = Handed(turn, adapter, history, at)
        return self._accept((redaction or self._redaction).clean(handed))

    async def deliver(
        self,
        turn: Turn,
        adapter: Adapter,
        timeout: float,
        *,
        history: History | None = None,
        redaction: Redaction | None = None,
    ) -> WriteAnswer | None:
        """Take a turn in and wait at most `timeout` seconds for the service's answer; None = still in the outbox.

        Awaited on any event loop. An answer with outcome `QUOTA` says that the write is parked until the quota
        returns, one with outcome `DROPPED` that it was refused: writes are off, or `redact` withheld the words.

        Raises:
            OutboxFullError: the outbox is full.
            MemotelError: the write ended without being kept; the service's own error where there is one.
        """
        future: Future[Ending] = Future()
        clean = (redaction or self._redaction).clean(Handed(turn, adapter, history))
        receipt = self._accept(clean, future)
        if receipt.status is not ReceiptStatus.ACCEPTED:
            was_seen = receipt.status is not ReceiptStatus.REFUSED
            return WriteAnswer(WriteOutcome.DUPLICATE if was_seen else WriteOutcome.DROPPED)
        waiting = asyncio.wrap_future(future)
        done, _ = await asyncio.wait((waiting,), timeout=timeout)
        if not done:
            waiting.cancel()
            return None
        return answer_of(waiting.result())

    def flush(self, timeout: float) -> FlushReport:
        """Wait at most `timeout` seconds until all that was accepted before is delivered, and report.

        It returns earlier where nothing more can happen in time, retries no harder, and raises `MemotelError` on memotel's own loop.
        """
        self._refuse_own_loop()
        before = self._ledger.totals()
        waiter = self._watch(timeout, before)
        if waiter is not None:
            self._wait(waiter)
        return flush_report(before, self._ledger.totals())

    async def aflush(self, timeout: float) -> FlushReport:
        """Do as `flush` does, awaited on any event loop."""
        before = self._ledger.totals()
        waiter = self._watch(timeout, before)
        if waiter is not None:
            waiting = asyncio.wrap_future(waiter.done)
            done, _ = await asyncio.wait((waiting,), timeout=timeout + GRACE_S)
            if not done:
                self._drain.unwatch(waiter)
        return flush_report(before, self._ledger.totals())

    def close(self, timeout: float) -> FlushReport:
        """Take nothing more in, deliver what can be delivered in `timeout` seconds, leave the rest to the next process.

        What a memory outbox cannot deliver is counted `dropped`; one on disk keeps it, and it is `pending` in the report.
        A second call changes nothing. Never raises; on memotel's own loop it does not wait.
        """
        before = self._ledger.totals()
        self._ledger.close()
        waiter = None if self._loop.is_current() else self._watch(timeout, before)
        if waiter is not None:
            self._wait(waiter)
        _, kept = self._finish()
        return flush_report(before, self._ledger.totals(), kept)

    async def aclose(self, timeout: float) -> FlushReport:
        """Do as `close` does, awaited on any event loop."""
        self._ledger.close()
        report = await self.aflush(timeout)
        lost, _ = self._finish()
        return replace(report, pending=report.pending - lost, failed=report.failed + lost)

    def start_flush(self, timeout: float) -> FlushWaiter | None:
        """Begin a flush without waiting; None where there is nothing to wait for."""
        return self._watch(timeout, self._ledger.totals())

    def stats(self) -> WriteStats:
        """Return the books, and what the drain is doing."""
        return WriteStats(
            totals=self._ledger.totals(),
            in_flight=self._schedule.in_flight,
            in_flight_limit=self._schedule.window.limit,
            dead_letters=self._outbox.dead,
            is_credentials_rejected=self._schedule.credentials.is_rejected,
            is_closed=self._ledger.is_closed,
        )

    def dead_letters(self) -> list[DeadLetter]:
        """Return the writes that were rejected for good and are still kept, oldest first."""
        return self._ledger.dead_letters(self._clocks.wall())

    def quota_returned(self) -> None:
        """Send what is parked again: there is evidence that the plan works."""
        self._drain.quota_returned()

    def credentials_accepted(self) -> None:
        """Send again: the service has accepted the credentials elsewhere."""
        self._drain.credentials_accepted()

    def wake(self) -> None:
        """Look at what there is to do: a gate may have opened."""
        if self._ledger.last_seq:
            self._drain.look()

    def _accept(self, clean: Handed | None, future: "Future[Ending] | None" = None) -> Receipt:
        if self._ledger.is_closed or not self._is_enabled:
            return self._refuse(
                RefusalReason.CLOSED if self._ledger.is_closed else RefusalReason.DISABLED
            )
        if clean is None:
            return self._refuse(RefusalReason.REDACTED)
        turn = clean.turn
        sighting = self._sightings.see(turn, clean.history, clean.at)
        if sighting.kind is not None:
            self._ledger.deduplicated(clean.adapter, sighting.kind)
            return Receipt(ReceiptStatus(sighting.kind.value), sighting.key)
        write = Write(
            turn=turn,
            key=sighting.key,
            account=self.account,
            accepted_at=self._clocks.wall(),
            adapter=clean.adapter,
            occurrence=sighting.occurrence,
            trace=self._trace(),
        )
        return self._keep(write, future)

    def _keep(self, write: Write, future: "Future[Ending] | None") -> Receipt:
        expires_at = self._clocks.monotonic() + self.policy.max_age_s
        plan = self._drain.put if future is None else partial(self._expect, future)
        taken = self._ledger.accept(write, expires_at, plan)
        if isinstance(taken, NotTaken):
            return self._turn_away(taken, write, future)
        if self._drains_at_exit and not self._is_registered:
            at_exit.register(self)
            self._is_registered = True
        if future is None:
            self._drain.wake()
        else:
            self._drain.look()
        return Receipt(ReceiptStatus.ACCEPTED, write.key)

    def _expect(self, future: "Future[Ending]", entry: Entry) -> None:
        self._deliveries.expect(entry, future)
        self._drain.put(entry)

    def _turn_away(self, why: NotTaken, write: Write, future: "Future[Ending] | None") -> Receipt:
        """Handle a write that the outbox did not take."""
        if why is NotTaken.WAITS_ALREADY:
            self._ledger.deduplicated(write.adapter, DedupeKind.REDELIVERY)
            return Receipt(ReceiptStatus.REDELIVERY, write.key)
        self._sightings.forget(write.key)
        if why is NotTaken.CLOSED:
            return self._refuse(RefusalReason.CLOSED)
        policy = self._outbox_policy
        self._notices.full(policy.max_writes, policy.max_bytes)
        error = OutboxFullError(f"the outbox is full ({policy.max_writes} writes)")
        if policy.on_full == "raise":
            self._ledger.refused(RefusalReason.FULL)
            raise error
        self._ledger.accept_and_drop(write)
        if future is not None:
            raise error
        return Receipt(ReceiptStatus.ACCEPTED, write.key)

    def _refuse(self, reason: RefusalReason) -> Receipt:
        self._ledger.refused(reason)
        return Receipt(ReceiptStatus.REFUSED)

    def _end(self, entry: Entry, outcome: WriteOutcome, cause: str) -> None:
        self._endings.end(self._ledger, entry, outcome, cause)

    def _watch(self, timeout: float, totals: Totals) -> FlushWaiter | None:
        if totals.pending == 0:
            return None
        waiter = FlushWaiter(self._ledger.last_seq, self._clocks.monotonic() + timeout)
        self._drain.watch(waiter)
        return waiter

    def _wait(self, waiter: FlushWaiter) -> None:
        left_s = max(0.0, waiter.deadline - self._clocks.monotonic())
        try:
            waiter.done.result(left_s)
        except TimeoutError:
            self._drain.unwatch(waiter)

    def _finish(self) -> tuple[int, int]:
        """Stop the drain; count what is lost with the outbox as dropped, and hand over what it keeps: return both."""
        at_exit.unregister(self)
        self._counts.remove_source(self._gauges)
        if self._ledger.last_seq:
            self._drain.stop()
        lost = self._ledger.unkept()
        for entry in lost:
            self._end(entry, WriteOutcome.DROPPED, "closed")
        if lost:
            self._notices.dropped(len(lost), is_durable=self._outbox.survives_exit)
        kept = self._ledger.hand_over()
        self._outbox.close()
        return len(lost), kept

    def _refuse_own_loop(self) -> None:
        if self._loop.is_current():
            raise MemotelError(OWN_LOOP)

    def _gauges(self) -> Iterable[tuple[Gauge, Labels, float]]:
        capacity, now = self._outbox_policy.max_writes, self._clocks.wall()
        return outbox_gauges(self.provider, self._ledger, capacity, now)
