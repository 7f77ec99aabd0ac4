"""Which library reads and writes JSON: orjson where it is installed, else the standard one."""

import subprocess
import sys

import pytest
from unmeasured import unmeasured

PROGRAM = """
import sys
used = []

class Standing:
    OPT_PASSTHROUGH_DATACLASS = OPT_PASSTHROUGH_DATETIME = 0

    def loads(self, body):
        used.append("read")
        return {}

    def dumps(self, value, option=0):
        used.append("written")
        return b"{}"

sys.modules["orjson"] = Standing() if sys.argv[1] == "installed" else None
from memotel.backends import jsontext
assert jsontext.loads(b"{}") == {} and jsontext.dumps({}) == b"{}"
print(*used)
"""


@pytest.mark.parametrize(("state", "used"), [("installed", "read written\n"), ("missing", "\n")])
def test_orjson_reads_and_writes_where_it_is_installed(state: str, used: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, state],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=unmeasured(),
    )

    assert done.stdout == used
