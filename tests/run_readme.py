"""Run the README's own examples: each ```python block, and each ```bash block that begins with `tupi`."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main() -> int:
    ran = 0
    # One folder for all blocks, in order: the command line's example reads the files that Python's example wrote.
    with tempfile.TemporaryDirectory() as folder:
        for language, text in BLOCK.findall((ROOT / "README.md").read_text()):
            if language == "bash" and not text.startswith("tupi "):
                continue  # set-up commands, which have run already
            script = text.replace("tupi ", f"{Path(sys.executable).parent}/tupi ", 1)
            command = [sys.executable, "-c", text] if language == "python" else ["bash", "-euc", script]
            print(f"--- {language}: {text.splitlines()[0]}", flush=True)
            subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL)
            ran += 1
    if ran < 2:
        print(f"README examples: expected at least 2, found {ran}")
        return 1
    print(f"README examples: {ran} ran")
    return 0


if __name__ == "__main__":
    sys.exit(main())
