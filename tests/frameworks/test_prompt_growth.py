"""A chat of many turns: memory adds its current block to the prompt and nothing else, through every adapter."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_prompt_stays_flat_through_every_adapter(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.prompt_growth", "--quick", "--json", str(file)],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(file.read_text())["figures"]
    verdicts = {figure["name"]: figure["verdict"] for figure in figures if figure["limit"]}
    assert len(verdicts) == 6
    assert set(verdicts.values()) == {"met"}
