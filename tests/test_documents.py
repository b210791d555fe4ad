"""What documents and scripts say about themselves is so."""

import subprocess
from pathlib import Path

from tests import run_readme

ROOT = Path(__file__).parents[1]


def test_the_readmes_examples_that_run_are_those_that_the_script_names(monkeypatch):
    ran = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: ran.append(command[-1]))
    assert run_readme.main() == 0
    blocks = run_readme.BLOCK.findall((ROOT / "README.md").read_text())
    expected = [text for language, text in blocks if language == "python" or text.startswith("tupi ")]
    assert len(ran) == len(expected) > 2
    assert run_readme.__doc__.endswith("each ```python block, and each ```bash block that begins with `tupi`.")


def test_a_changelog_without_a_release_speaks_of_no_earlier_one():
    text = (ROOT / "CHANGELOG.md").read_text()
    if text.count("\n## ") == 1:  # Unreleased alone
        assert "no longer" not in text
