"""Well-known orders of summation as trees, and the name of a tree among them.

Requirement: a name is given only when the whole tree is the one that the name stands for. What has no name as a whole
is drawn by its parts, each with its name where it has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from kernel_contracts.measurement.tree import Tree

#: Lines of a drawing; what is deeper is left out and said so.
LINES = 24


class _Maker:
    """Trees over given numbers, built step by step."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.steps: list[tuple[int, ...]] = []

    def add(self, *parts: int) -> int:
        if len(parts) == 1:
            return parts[0]
        self.steps.append(parts)
        return self.n + len(self.steps) - 1

    def fold(self, ids: Sequence[int]) -> int:
        total = ids[0]
        for i in ids[1:]:
            total = self.add(total, i)
        return total

    def neighbours(self, ids: Sequence[int]) -> int:
        """Neighbours in pairs, then the pairs; an odd one out waits."""
        while len(ids) > 1:
            ids = [self.add(*ids[k : k + 2]) for k in range(0, len(ids), 2)]
        return ids[0]

    def opposite(self, ids: Sequence[int]) -> int:
        """First half plus second half, element by element, as vector registers are folded."""
        while len(ids) > 1:
            half = len(ids) // 2
            rest = ids[2 * half :]
            ids = [*(self.add(ids[k], ids[half + k]) for k in range(half)), *rest]
        return ids[0]

    def chunks(self, ids: Sequence[int], size: int) -> int:
        return self.fold([self.fold(ids[k : k + size]) for k in range(0, len(ids), size)])

    def lanes(self, ids: Sequence[int], width: int, combine: Callable[[Sequence[int]], int], *, tail: bool) -> int:
        """Lane k adds every width-th number; with `tail`, what fills no round is added one by one at the end."""
        cut = len(ids) - len(ids) % width if tail else len(ids)
        total = combine([self.fold(ids[k:cut:width]) for k in range(min(width, cut))])
        return self.fold([total, *ids[cut:]])

    def halves(self, ids: Sequence[int], leaf: int, unit: int, inner: Callable[[Sequence[int]], int]) -> int:
        """Split in the middle, at a multiple of `unit`, until a part has at most `leaf` numbers."""
        if len(ids) <= leaf:
            return inner(ids)
        half = len(ids) // 2
        half -= half % unit
        return self.add(self.halves(ids[:half], leaf, unit, inner), self.halves(ids[half:], leaf, unit, inner))

    def numpy(self, ids: Sequence[int]) -> int:
        """What NumPy documents: halves down to 128 numbers, those in 8 lanes."""

        def block(part: Sequence[int]) -> int:
            return self.fold(part) if len(part) < 8 else self.lanes(part, 8, self.neighbours, tail=True)

        return self.halves(ids, 128, 8, block)

    def tree(self) -> Tree:
        return Tree(self.n, tuple(self.steps))


def planted(name: str, n: int, size: int = 0) -> Tree:
    """The tree of a named order: sequential, reversed, pairwise, halves, blocked(size), lanes(size), fused."""
    made = _Maker(n)
    ids = list(range(n))
    build: dict[str, Callable[[], int]] = {
        "sequential": lambda: made.fold(ids),
        "reversed": lambda: made.fold(ids[::-1]),
        "pairwise": lambda: made.neighbours(ids),
        "halves": lambda: made.halves(ids, 1, 1, made.fold),
        "opposite": lambda: made.opposite(ids),
        "blocked": lambda: made.chunks(ids, size),
        "split": lambda: made.chunks(ids, -(-n // max(size, 1))),
        "lanes": lambda: made.lanes(ids, size, made.neighbours, tail=True),
        "numpy": lambda: made.numpy(ids),
        "fused": lambda: made.add(*ids),
    }
    build[name]()
    return made.tree()


def canonical(tree: Tree, seen: dict[frozenset[int], int]) -> list[int]:
    """A number for each term and step; equal within one `seen` exactly where the additions are the same."""
    out = list(range(tree.n))
    for children in tree.steps:
        out.append(seen.setdefault(frozenset(out[c] for c in children), 1_000_000_000 + len(seen)))
    return out


def same(a: Tree, b: Tree) -> bool:
    """Whether two trees stand for the same additions; the order of the operands of one addition does not matter."""
    seen: dict[frozenset[int], int] = {}
    return a.n == b.n and canonical(a, seen)[-1] == canonical(b, seen)[-1]


def name_of(tree: Tree) -> str:
    """The name of the whole tree; empty where it has none."""
    if tree.n == 1:
        return "one term"
    return _simple(tree) or _composed(tree)


def _simple(tree: Tree) -> str:
    seen: dict[frozenset[int], int] = {}
    mine = canonical(tree, seen)[-1]
    for name, other in _candidates(tree):
        if len(other.steps) == len(tree.steps) and canonical(other, seen)[-1] == mine:
            return name
    return ""


def _composed(tree: Tree) -> str:
    """`sequential over 8 parts, every 8th term, each pairwise`: equal parts, and a name for how they are added."""
    below = tree.leaves()
    for size in range(tree.n // 2, 1, -1):
        roots = (
            [k for k in range(tree.n, tree.n + len(tree.steps)) if len(below[k]) == size] if not tree.n % size else []
        )
        if len(roots) * size != tree.n:
            continue
        roots.sort(key=lambda k: below[k][0])
        parts = [_part(tree, k, below) for k in roots]
        first = parts[0]
        if first is None or any(p is None or not same(first, p) for p in parts):
            continue
        outer, inner = _simple(_above(tree, roots)), name_of(first)
        if outer and inner:
            gap = below[roots[0]][1] - below[roots[0]][0]
            where = f"every {gap}th term" if gap > 1 else f"runs of {size}"
            return f"{outer} over {len(roots)} parts ({where}), each {inner}"
    return ""


def _above(tree: Tree, roots: Sequence[int]) -> Tree:
    """What is left of a tree when these subtrees become its terms."""
    number = {root: k for k, root in enumerate(roots)}
    steps: list[tuple[int, ...]] = []
    for k, children in enumerate(tree.steps, tree.n):
        if k not in number and all(c in number for c in children):
            number[k] = len(roots) + len(steps)
            steps.append(tuple(number[c] for c in children))
    return Tree(len(roots), tuple(steps))


def _candidates(tree: Tree) -> Iterator[tuple[str, Tree]]:
    n = tree.n
    if n == 2:
        yield "sequential", planted("sequential", 2)
        return
    for name in ("sequential", "reversed"):
        yield name, planted(name, n)
    yield f"one sum of {n} terms", planted("fused", n)
    yield "pairwise", planted("pairwise", n)
    yield "pairwise by halves", planted("halves", n)
    yield "pairwise by opposite halves", planted("opposite", n)
    chunk, stride = _first_chunk(tree), _first_stride(tree)
    if 1 < chunk < n:
        yield f"blocked({chunk})", planted("blocked", n, chunk)
    if 1 < stride < n:
        yield from _laned(n, stride)
    if n > 128:
        yield "halves of blocks of at most 128 in lanes(8)", planted("numpy", n)


def _laned(n: int, width: int) -> Iterator[tuple[str, Tree]]:
    for tail in (False, True) if n % width else (False,):
        for how in ("neighbours", "opposite", "fold"):
            made = _Maker(n)
            made.lanes(range(n), width, getattr(made, how), tail=tail)
            words = {"neighbours": "pairwise", "opposite": "by opposite halves", "fold": "one after another"}[how]
            rest = f", the last {n % width} added one by one" if tail else ""
            yield f"lanes({width}) folded {words}{rest}", made.tree()


def _first_chunk(tree: Tree) -> int:
    """How many terms are added to term 0 one after another, from its neighbour on."""
    parent = {c: k for k, children in enumerate(tree.steps) for c in children}
    node, length = 0, 1
    while node in parent:
        others = [c for c in tree.steps[parent[node]] if c != node]
        if others != [length]:
            break
        node, length = tree.n + parent[node], length + 1
    return length


def _first_stride(tree: Tree) -> int:
    """The first term that is added to term 0."""
    for children in tree.steps:
        if 0 in children:
            rest = [c for c in children if c != 0]
            return rest[0] if rest[0] < tree.n else 0
    return 0


def _part(tree: Tree, node: int, below: list[list[int]]) -> Tree | None:
    """The subtree with its terms counted from 0, when they are evenly spaced."""
    terms = below[node]
    if node < tree.n or len(_gaps(terms)) > 1:
        return None
    inside, todo = [], [node]
    while todo:
        at = todo.pop()
        if at >= tree.n:
            inside.append(at)
            todo += tree.steps[at - tree.n]
    number = {t: k for k, t in enumerate(terms)} | {at: len(terms) + k for k, at in enumerate(sorted(inside))}
    return Tree(len(terms), tuple(tuple(number[c] for c in tree.steps[at - tree.n]) for at in sorted(inside)))


def _gaps(terms: Sequence[int]) -> set[int]:
    return {b - a for a, b in pairwise(terms)}


# ------------------------------------------------------------------------------------------------------------- drawing


def draw(tree: Tree, lines: int = LINES) -> list[str]:
    """The tree as text, one line a part; parts with a name are not taken apart."""
    below, depths = tree.leaves(), tree.depths()
    names: dict[int, str] = {}

    def name(node: int) -> str:
        if node not in names:
            part = _part(tree, node, below)
            names[node] = name_of(part) if part is not None else ""
        return names[node]

    out: list[str] = []
    stack = [(tree.n + len(tree.steps) - 1, "", "")] if tree.steps else []
    while stack:
        node, lead, indent = stack.pop()
        if len(out) == lines:
            out.append(f"{lead}... and {len(stack)} more parts")
            break
        words = [_terms(below[node]), name(node)]
        chain = _chain(tree, node, name) if node >= tree.n and not name(node) else []
        words.append(f"depth {depths[node]}" if node >= tree.n else "")
        words.append("one after another:" if len(chain) > 2 else "")
        out.append(lead + "  ".join(w for w in words if w))
        for k, child in reversed(list(enumerate(chain))):
            last = k == len(chain) - 1
            stack.append((child, indent + ("└ " if last else "├ "), indent + ("  " if last else "│ ")))
    return out


def _chain(tree: Tree, node: int, name: Callable[[int], str]) -> list[int]:
    """The parts that are added one after another to make a node, first ones first."""
    taken: list[int] = []
    while True:
        children = tree.steps[node - tree.n]
        open_ = [c for c in children if c >= tree.n and not name(c)]
        if len(open_) != 1 or len(children) != 2:
            return [*children, *reversed(taken)]
        taken += [c for c in children if c != open_[0]]
        node = open_[0]


def _terms(terms: Sequence[int]) -> str:
    """`0..7`, `0, 8, ..., 120`, `term 3`; where they are not evenly spaced, how many and between which."""
    if len(terms) == 1:
        return f"term {terms[0]}"
    gaps = _gaps(terms)
    if gaps == {1}:
        return f"{terms[0]}..{terms[-1]}"
    if len(gaps) == 1:
        return f"{terms[0]}, {terms[1]}, ..., {terms[-1]}" if len(terms) > 2 else f"{terms[0]}, {terms[1]}"
    return f"{len(terms)} terms of {terms[0]}..{terms[-1]}"
