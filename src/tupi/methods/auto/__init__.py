"""The default method, all of it; `auto.py` is where to begin."""
