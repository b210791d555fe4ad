"""What pytest leaves out where an extra is missing: the examples of a module that cannot be imported without it."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/tupi/torch.py"]
