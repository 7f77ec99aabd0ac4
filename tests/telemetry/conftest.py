"""One rig for each test."""

import pytest
from telemetry_rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()
