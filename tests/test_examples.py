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
    monday, tuesday, wednesday = ran.stdout.splitlines()
    for line in (monday, tuesday):
        before, after = map(float, re.findall(r"0\.\d+", line))
        assert after > before + 0.03
    assert float(re.findall(r"0\.\d+", wednesday)[0]) > float(re.findall(r"0\.\d+", tuesday)[1])
    assert len(tupi.load(tmp_path / "run.npz").predictions) == 0
