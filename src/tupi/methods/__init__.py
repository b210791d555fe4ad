"""Methods: each one small file with the same interface, found by name.

Called as a function, ``tupi.methods()`` lists their names; as a package it holds their classes, such as
`tupi.methods.Tupi`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from types import ModuleType
from typing import Any

# "X as X" says to type checkers that people may import X from here.
from tupi.methods.auto.auto import Auto as Auto
from tupi.methods.auto.auto import Fuse as Fuse
from tupi.methods.auto.auto import Smooth as Smooth
from tupi.methods.base import Method as Method
from tupi.methods.boost import Boost as Boost
from tupi.methods.coconut import Coconut as Coconut
from tupi.methods.combine import Select as Select
from tupi.methods.combine import TupiCoconut as TupiCoconut
from tupi.methods.correct_and_smooth import CorrectAndSmooth as CorrectAndSmooth
from tupi.methods.gp import GP as GP
from tupi.methods.graph_ssl import GraphSSL as GraphSSL
from tupi.methods.kim import Kim as Kim
from tupi.methods.knn import Knn as Knn
from tupi.methods.retrain import Retrain as Retrain
from tupi.methods.ridge import Ridge as Ridge
from tupi.methods.trees import Trees as Trees
from tupi.methods.tupi import Tupi as Tupi
from tupi.methods.tupi import TupiJoint as TupiJoint
from tupi.runtime.errors import InputError, nearest

METHODS: dict[str, type[Method]] = {
    kind.name: kind
    for kind in (
        Auto,  # ours
        Fuse,
        Smooth,
        Tupi,  # the paper's
        TupiJoint,
        Coconut,
        Kim,
        GraphSSL,
        Retrain,
        TupiCoconut,
        Select,
        Ridge,  # plain ones
        Trees,
        Boost,
        GP,
        Knn,
        CorrectAndSmooth,
    )
}


def methods() -> list[str]:
    """Return the names that `tupi.denoise` accepts as ``method``."""
    return list(METHODS)


def make_method(method: Any, params: dict[str, Any], caller: str | None = None) -> Method:
    """Return a configured method from a name and parameters, or a method object as it is.

    Parameters
    ----------
    method : str or Method
        What the user gave.
    params : dict
        Parameters by name; those that the method does not have are refused.
    caller : str, optional
        The function whose surplus arguments these are, for messages.
    """
    if isinstance(method, Method):
        if params:
            raise InputError(
                f"{next(iter(params))}: found beside a configured method object; accepted: one of the two."
            )
        return method
    if not isinstance(method, str) or method not in METHODS:
        hint = nearest(str(method), METHODS)
        raise InputError(f"method: found {method!r}; accepted: {', '.join(METHODS)}, or a method object.{hint}")
    known = _parameters(METHODS[method])
    for name in params:
        if name not in known:
            raise InputError(_unknown(name, method, known, caller))
    return METHODS[method](**params)


def _parameters(kind: type[Method]) -> list[str]:
    return [field.name for field in fields(kind)]


def _unknown(name: str, method: str, known: list[str], caller: str | None) -> str:
    """Return what to say of a parameter that a method does not have: whose it is, or what there is."""
    owners = [other for other, kind in METHODS.items() if name in _parameters(kind)]
    if owners:
        whose = f"method{'s' if len(owners) > 1 else ''} {', '.join(map(repr, owners))}"
        return (
            f"{name}: method {method!r} has no such parameter; it belongs to {whose} "
            f'(method="{owners[0]}", {name}=...).'
        )
    lacking = "" if caller is None else f"{caller} has no such argument, and "
    accepted = f"accepted: {', '.join(known) or 'none'}.{nearest(name, known)}"
    return f"{name}: {lacking}method {method!r} has no such parameter; {accepted}"


class _Methods(ModuleType):
    """The package as a module that can be called."""

    def __call__(self) -> list[str]:
        return methods()

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        return import_module, (self.__name__,)  # cloudpickle, and so Dask, knows plain modules only


# Python looks for __call__ in an object's class, so that a function of that name in this file would not do. A module
# may be given a class of its own (see "Customizing module attribute access" in Python's reference).
sys.modules[__name__].__class__ = _Methods
