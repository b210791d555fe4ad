"""Run the README's own examples: each ```python block, and each ```bash block that begins with `tupi`."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main() -> int:
    ran = 0
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        for language, text in BLOCK.findall((ROOT / "README.md").read_text()):
            if language == "bash" and not text.startswith("tupi "):
                continue  # set-up commands, which have run already
            command = [sys.executable, "-c", text] if language == "python" else ["bash", "-euc", text]
            print(f"--- {language}: {text.splitlines()[0]}", flush=True)
            subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL, env=environment)
            ran += 1
    if ran < 2:
        print(f"README examples: expected at least 2, found {ran}")
        return 1
    print(f"README examples: {ran} ran")
    return 0


if __name__ == "__main__":
    sys.exit(main())
