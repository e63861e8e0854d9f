"""Where PyTorch lets a guard in: a dispatch mode sees every operation, those of the backward pass too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernel_contracts.guarding.families import Understand, composed, watched

After = Callable[[str, Understand | None, Any, Any, Any, Callable[[], Any]], None]


def mode(after: After) -> Any:
    """A dispatch mode that calls `after(name, understand, args, kwargs, out, again)` for each watched operation."""
    from torch.utils._python_dispatch import TorchDispatchMode

    known = watched()

    class Mode(TorchDispatchMode):  # type: ignore[misc]
        """Runs each operation as it is, then shows products to the guard, with the mode off."""

        @classmethod
        def ignore_compile_internals(cls) -> bool:
            """Have compiled programs run compiled, where PyTorch knows of this; else they run as if they were not.

            What they call of PyTorch's own products passes by here all the same.
            """
            return True

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found = known.get(func)
            if found is None and composed(func):
                with self:  # what it is made of passes by here again
                    out = func.decompose(*args, **(kwargs or {}))
                if out is not NotImplemented:
                    return out
            out = func(*args, **kwargs) if kwargs else func(*args)
            if found is not None:
                given = {k: v for k, v in (kwargs or {}).items() if k != "out"}
                # Done again it goes to memory of its own.
                again = func if len(given) == len(kwargs or {}) else getattr(func.overloadpacket, "default", func)
                after(*found, args, kwargs or {}, out, lambda: again(*args, **given))
            return out

    return Mode()


def in_backward() -> bool:
    """Whether the autograd engine is running."""
    import torch

    return bool(torch._C._current_graph_task_id() != -1)
