"""Hooks that are compiled functions instead of methods in Python.

`simsched_hooks.h`, in the folder that :func:`get_include` returns, declares these functions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import PolicyError
from simsched.policy.contract.records import told

#: hooks that can be compiled, and those of them that decide nothing then
COMPILED_HOOKS = ("on_spawn", "on_ready", "on_acquire", "on_start", "on_idle", "on_finish")
OBSERVING = ("on_acquire", "on_start", "on_finish")
FUNCTION: Any = ctypes.CFUNCTYPE(None).__mro__[1]  #: what all functions of ctypes are
MAX_ADDRESS = 2 ** (8 * ctypes.sizeof(ctypes.c_void_p)) - 1


@dataclass(frozen=True, eq=False)
class Compiled:
    """A compiled function that decides in place of a hook.

    Parameters
    ----------
    function : object
        Function of `ctypes`, `numba.cfunc`, or an address; of the type that `simsched_hooks.h`
        declares for the hook.
    memory : ndarray, optional
        What the function gets as its `memory`, to read and to write; NULL by default.
    """

    function: Any
    memory: NDArray[Any] | None = None
    address: int = field(init=False)  #: of the function

    def __post_init__(self) -> None:
        """Find the address; refuse memory that a function could not use."""
        address = getattr(self.function, "address", self.function)  # of numba
        if isinstance(address, FUNCTION):
            address = ctypes.cast(address, ctypes.c_void_p).value
        if type(address) is not int or not 0 < address <= MAX_ADDRESS:
            accepted = "a function of ctypes, a numba.cfunc or an address"
            raise PolicyError(
                f"Compiled: function: found {told(self.function)}, accepted {accepted}"
            )
        memory: object = self.memory
        if memory is not None and not (
            isinstance(memory, np.ndarray)
            and memory.flags.c_contiguous
            and memory.flags.writeable
            and not memory.dtype.hasobject
        ):
            accepted = "a contiguous ndarray of numbers that can be written, or None"
            raise PolicyError(f"Compiled: memory: found {told(memory)}, accepted {accepted}")
        object.__setattr__(self, "address", address)

    @property
    def memory_address(self) -> int:
        """Address of the memory, 0 without any."""
        return 0 if self.memory is None else self.memory.ctypes.data


def compiled(method: Callable[[Any, Any, Any], Compiled]) -> Any:
    """Mark a method, named like a hook, that returns the compiled function to call instead.

    Parameters
    ----------
    method : callable
        Gets the policy, the :class:`PlanView` and the policy's state; returns a :class:`Compiled`.
        It is called before each iteration, once the plan is made, in the process of the run.

    Returns
    -------
    callable
        The method.
    """
    vars(method)["is_compiled"] = True
    return method


def is_compiled(policy: type, hook: str) -> bool:
    """Return whether a hook of a class of policies is a compiled function."""
    return getattr(getattr(policy, hook), "is_compiled", False) is True


def get_include() -> str:
    """Return the folder of `simsched_hooks.h`, for the compiler's `-I`.

    Returns
    -------
    str
        Absolute path.
    """
    return str(Path(__file__).resolve().parents[1] / "include")
