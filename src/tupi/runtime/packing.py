"""Trees of dataclasses as one JSON text and plain arrays, and back, without pickle.

A value becomes what JSON has for it. An array becomes a reference to one of the arrays beside the text, and a dataclass
its name with its fields; one that writes itself as text (``to_json``) becomes that text. Reading makes only the classes
that it is told of, so that a file can ask for nothing else. Fields that a file lacks keep their defaults: classes may
grow, and what was written before can still be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def packed(value: Any, arrays: Arrays, prefix: str) -> Any:
    """Return a value as JSON can hold it; arrays in it are added to ``arrays`` under names that begin with a prefix."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        name = f"{prefix}{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [packed(one, arrays, prefix) for one in value]}
    if hasattr(value, "to_json"):
        return {"text": type(value).__name__, "json": value.to_json()}
    if is_dataclass(value) and not isinstance(value, type):
        inside = {field.name: packed(getattr(value, field.name), arrays, prefix) for field in fields(value)}
        return {"class": type(value).__name__, "fields": inside}
    raise TypeError(f"a {type(value).__name__} cannot be saved")


def unpacked(tree: Any, arrays: Mapping[str, NDArray[Any]], classes: Mapping[str, Any]) -> Any:
    """Return what `packed` was given.

    Parameters
    ----------
    tree : Any
        What `packed` returned.
    arrays : mapping of str to ndarray
        The arrays beside it.
    classes : mapping of str to class
        The classes that may be made, by their names.
    """
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[tree["array"]]
    if "text" in tree:
        return classes[tree["text"]].from_json(tree["json"])
    if "class" in tree:
        made = classes[tree["class"]]
        names = {field.name for field in fields(made)}
        inside = {name: unpacked(one, arrays, classes) for name, one in tree["fields"].items() if name in names}
        return made(**inside)
    ((kind, entries),) = tree.items()
    return {"list": list, "tuple": tuple}[kind](unpacked(one, arrays, classes) for one in entries)
