"""Examples that need nothing but the package do what they say."""

import re
import subprocess
import sys
from pathlib import Path

import tupi

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_a_result_goes_from_day_to_day(tmp_path):
    ran = subprocess.run(
        [sys.executable, EXAMPLES / "production.py", tmp_path], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    monday, tuesday, unchanged, changed, wednesday = ran.stdout.splitlines()
    for line in (monday, tuesday):
        before, after = map(float, re.findall(r"0\.\d+", line))
        assert after > before + 0.03
    assert "look like the 600" in unchanged
    assert "differ from the 600 that the result was made on in view sensor" in changed
    initial, by_monday, taught = map(float, re.findall(r"0\.\d+", wednesday))
    assert initial < by_monday < taught
    assert len(tupi.load(tmp_path / "run.npz").predictions) == 0
