"""The outboxes on disk of one process: one directory object for each place, shared by all accounts that use it."""

from memotel.config import ClientSettings
from memotel.notices import Notices
from memotel.places import Place
from memotel.runtime import Runtime
from memotel.writes.clocks import Clocks
from memotel.writes.disk.directory import OutboxDirectory
from memotel.writes.disk.outbox import SqliteOutbox
from memotel.writes.notices import WriteNotices


def outbox_on_disk(runtime: Runtime, place: Place, settings: ClientSettings) -> SqliteOutbox:
    """Return an account's outbox in `place`. The first account's intervals hold for the directory."""
    policy, clocks = settings.outbox, Clocks()
    with runtime.lock:
        directory = runtime.outboxes.get(place)
        if directory is None:
            directory = runtime.outboxes[place] = OutboxDirectory(
                place,
                runtime.counts,
                interval_s=policy.adopt_interval_s,
                dead_max_age_s=policy.dead_letter_max_age_s,
            )
    notices = Notices(
        settings.provider,
        settings.account,
        interval_s=policy.log_interval_s,
        clock=clocks.monotonic,
    )
    return SqliteOutbox(
        settings.account,
        settings.provider,
        directory,
        policy=policy,
        max_parked_age_s=settings.writes.max_parked_age_s,
        notices=WriteNotices(notices),
        clocks=clocks,
    )
