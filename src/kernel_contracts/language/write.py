"""An expression as text, with the fewest brackets that read back as the same tree."""

from __future__ import annotations

from collections.abc import Sequence

from kernel_contracts.language import syntax as s

OR, AND, NOT, COMPARE, RANGE, SUM, PRODUCT, SIGN, POWER, ATOM = range(10)
"""How tightly an expression holds together, loosest first."""

_LEVEL = {"or": OR, "and": AND, "..": RANGE, "+": SUM, "-": SUM, "^": POWER} | dict.fromkeys(
    ("*", "/", "//", "%", "@"), PRODUCT
)
_ORDER = ("<", "<=", ">", ">=")


def quote(text: str) -> str:
    """A string literal."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return f'"{text}"'


def write(expr: s.Expr, level: int = OR, *, formal: bool = False, grouped: bool = False) -> str:
    """The text of an expression where at least `level` is due.

    `formal`: `in` would begin an arithmetic here, so memberships are bracketed. `grouped`: several subjects may stand
    before `in` without brackets.
    """
    member = isinstance(expr, s.Binary) and expr.op == "in"
    several = isinstance(expr, s.Binary) and isinstance(expr.left, s.Group)
    if level_of(expr) < level or (member and (formal or (several and not grouped))):
        return f"({_plain(expr, formal=False, grouped=True)})"
    return _plain(expr, formal=formal, grouped=grouped)


def writes(items: Sequence[s.Expr], level: int = OR) -> str:
    """Expressions separated by commas."""
    return ", ".join(write(item, level) for item in items)


def level_of(expr: s.Expr) -> int:
    match expr:
        case s.Binary():
            return COMPARE if chain(expr) else _LEVEL.get(expr.op, COMPARE)
        case s.Unary():
            return NOT if expr.op == "not" else SIGN
    return ATOM


def chain(expr: s.Expr) -> tuple[list[s.Expr], list[str]] | None:
    """The operands and marks of `a < b < c`, which the tree holds as `a < b and b < c`; None for all else."""
    if not isinstance(expr, s.Binary) or expr.op != "and" or not isinstance(last := expr.right, s.Binary):
        return None
    if isinstance(expr.left, s.Binary) and expr.left.op in _ORDER:
        operands, marks = [expr.left.left, expr.left.right], [expr.left.op]
    elif (inner := chain(expr.left)) is not None:
        operands, marks = inner
    else:
        return None
    # Chains that turn round (`a < b > c`) are legal and unreadable.
    if last.op not in _ORDER or last.op[0] != marks[0][0] or last.left != operands[-1]:
        return None
    return [*operands, last.right], [*marks, last.op]


def conjuncts(expr: s.Expr) -> list[s.Expr]:
    """The operands of the `and`s at the top, from the left; chained comparisons stay whole."""
    if isinstance(expr, s.Binary) and expr.op == "and" and chain(expr) is None:
        return [*conjuncts(expr.left), expr.right]
    return [expr]


def write_call(function: str, arguments: Sequence[s.Argument]) -> str:
    return f"{function}({', '.join(write_argument(a) for a in arguments)})"


def write_argument(argument: s.Argument, level: int = OR) -> str:
    value = write(argument.value, level)
    return f"{argument.keyword} = {value}" if argument.keyword else value


def _plain(expr: s.Expr, *, formal: bool, grouped: bool) -> str:
    match expr:
        case s.Name():
            return expr.id
        case s.Number():
            return expr.text
        case s.Text():
            return quote(expr.value)
        case s.Call():
            return write_call(expr.function, expr.arguments)
        case s.Listing():
            return f"[{writes(expr.items)}]"
        case s.Choice():
            return f"{{{writes(expr.items)}}}"
        case s.Group():
            return writes(expr.items, RANGE)
        case s.Unary(op="not"):
            return f"not {write(expr.operand, NOT, formal=formal, grouped=grouped)}"
        case s.Unary():
            return f"{expr.op}{write(expr.operand, SIGN)}"
        case s.Binary():
            return _binary(expr, formal=formal, grouped=grouped)


def _binary(expr: s.Binary, *, formal: bool, grouped: bool) -> str:
    if parts := chain(expr):
        operands, marks = parts
        words = [write(operands[0], RANGE)]
        for mark, operand in zip(marks, operands[1:], strict=True):
            words += [mark, write(operand, RANGE)]
        return " ".join(words)
    own = level_of(expr)
    if expr.op == "^":
        return f"{write(expr.left, ATOM)}^{write(expr.right, SIGN)}"
    if expr.op == "..":
        return f"{write(expr.left, SUM)}..{write(expr.right, SUM)}"
    left, right = (RANGE, RANGE) if own == COMPARE else (own, own + 1)
    first = write(expr.left, left, formal=formal, grouped=grouped)
    return f"{first} {expr.op} {write(expr.right, right, formal=formal, grouped=grouped)}"
