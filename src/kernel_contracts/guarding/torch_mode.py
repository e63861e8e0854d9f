"""Where PyTorch lets a guard in: a dispatch mode sees every operation, those of the backward pass too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernel_contracts.guarding.calls import PRODUCTS, UNCOVERED

After = Callable[[str, Any, Any, Any, Callable[[], Any]], None]


def mode(after: After) -> Any:
    """A dispatch mode that calls `after(name, args, kwargs, out, again)` for each product."""
    from torch.utils._python_dispatch import TorchDispatchMode

    watched = frozenset(PRODUCTS) | frozenset(UNCOVERED)

    class Mode(TorchDispatchMode):  # type: ignore[misc]
        """Runs each operation as it is, then shows products to the guard, with the mode off."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            out = func(*args, **kwargs)
            name = func._schema.name[6:]  # without aten::
            if name in watched:
                after(name, args, kwargs, out, lambda: func(*args, **kwargs))
            return out

    return Mode()
