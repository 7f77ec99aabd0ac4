"""One run with every outcome, and one with content asked for, shared by all tests of this folder."""

import pytest
from observed_run import Observed, Scenarios, observed_run

from memotel.telemetry.content import CAPTURE_VARIABLE


@pytest.fixture(scope="session")
def observed() -> Observed:
    """What a run with every outcome told."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(CAPTURE_VARIABLE, raising=False)
        return observed_run()


@pytest.fixture(scope="session")
def observed_with_content() -> Observed:
    """What a run of healthy services told where span content is asked for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CAPTURE_VARIABLE, "SPAN_ONLY")
        return observed_run(Scenarios.run_healthy)
