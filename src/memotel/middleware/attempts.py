"""One HTTP span and one `http.client.request.duration` per attempt, and the trace headers it carries."""

from asyncio import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Iterator
