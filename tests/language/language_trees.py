"""Random syntax trees, of every kind that the parser can produce."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from kernel_contracts.language import syntax as s
from kernel_contracts.language.scan import CLAUSES, ITEMS

_ELSEWHERE = """and or not in derived absolute relative ulp per none policy as python good bad baseline return raise
where across away from range ends within bitwise equal unchanged of with for on ranks version implements at property
specification"""
_WORDS = {*_ELSEWHERE.split(), *CLAUSES, *ITEMS}
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,4}", fullmatch=True).filter(lambda n: n not in _WORDS)
hyphened = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,3}(-[A-Za-z0-9_]{1,3}){0,2}", fullmatch=True)
hyphened = hyphened.filter(lambda n: n not in _WORDS)
versions = st.from_regex(r"[0-9]{1,2}(\.[0-9]{1,2}){0,2}", fullmatch=True)
texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",), exclude_characters="\r"), max_size=8)
numbers = st.sampled_from(["0", "1", "65536", "1e-5", "0.5", "1.5e+3", "0x10", "2E4"]).map(s.Number)
atoms = st.one_of(names.map(s.Name), numbers)

ORDERS = ("<", "<=", ">", ">=")
ARITHMETIC = ("+", "-", "*", "/", "//", "%", "@", "^")


def _several(items: st.SearchStrategy, least: int = 0, most: int = 3) -> st.SearchStrategy:
    return st.lists(items, min_size=least, max_size=most).map(tuple)


def _extend(inner: st.SearchStrategy[s.Expr]) -> st.SearchStrategy[s.Expr]:
    binary = st.sampled_from([*ARITHMETIC, *ORDERS, "==", "!=", "and", "or", "in", ".."])
    argument = st.builds(s.Argument, st.one_of(st.none(), names), inner)
    group = st.builds(s.Group, _several(inner, 2))
    return st.one_of(
        st.builds(s.Binary, binary, inner, inner),
        st.builds(lambda a, b, c, x, y: s.Binary("and", s.Binary(x, a, b), s.Binary(y, b, c)), inner, inner, inner,
                  st.sampled_from(ORDERS), st.sampled_from(ORDERS)),
        st.builds(s.Unary, st.sampled_from(["-", "+", "not"]), inner),
        st.builds(s.Call, names, _several(argument)),
        st.builds(s.Listing, _several(inner)),
        st.builds(s.Choice, _several(inner)),
        st.builds(s.Binary, st.just("in"), group, inner),
        texts.map(s.Text),
    )  # fmt: skip


expressions = st.recursive(atoms, _extend, max_leaves=5)
across = _several(expressions, 0, 2)
where = st.one_of(st.none(), expressions)
calls = st.builds(s.Call, names, _several(st.builds(s.Argument, st.none(), expressions), 0, 2))


def _bitwise(
    subject: s.Expr, target: s.Expr | None, cond: s.Expr | None, over: Sequence[s.Expr], away: bool
) -> s.Bitwise:
    """A claim of equality without a target needs a variation."""
    lone = target is None and not over
    return s.Bitwise(subject, target, cond, tuple(over), away or lone)


guarantees = st.one_of(
    st.builds(s.Within, expressions, expressions, where, across),
    st.builds(_bitwise, expressions, st.one_of(st.none(), expressions), where, across, st.booleans()),
    st.builds(s.Unchanged, _several(names, 1)),
    st.builds(s.Policy, names, _several(expressions, 1), across),
    st.builds(s.OrRaise, expressions, names),
    st.builds(s.Companion, hyphened, across),
)

bare = st.builds(s.Elementwise, expressions)
options = _several(st.builds(s.Argument, names, expressions))
keyworded = st.one_of(
    st.builds(s.Derived, options),
    st.builds(s.Absolute, expressions),
    st.builds(s.Relative, expressions, expressions),
    st.builds(s.Ulp, expressions, expressions),
    st.just(s.NoTolerance()),
)


def _sum(parts: list[s.Tolerance]) -> s.Tolerance:
    """Parts joined by `+`, no two bare ones beside each other: those would be one expression."""
    kept = [p for i, p in enumerate(parts) if not (i and isinstance(p, s.Elementwise) and bares(parts[i - 1]))]
    return kept[0] if len(kept) == 1 else s.Joined("+", tuple(kept))


def bares(part: s.Tolerance) -> bool:
    return isinstance(part, s.Elementwise)


sums = st.lists(st.one_of(keyworded, bare), min_size=1, max_size=3).map(_sum)
flat = st.one_of(sums, st.lists(sums, min_size=2, max_size=3).map(lambda p: s.Joined("and", tuple(p))))
tables = st.builds(s.PerFormat, names, _several(st.tuples(names, flat), 1))
tolerances = st.one_of(flat, tables)

assigns = st.builds(s.Assign, names, expressions, st.one_of(st.none(), expressions))
references = st.one_of(
    st.builds(s.Program, _several(assigns, 1)),
    st.builds(s.PythonReference, texts, st.one_of(st.none(), expressions)),
    st.builds(s.Property, calls),
    st.builds(s.Specification, names),
)

tensor_types = st.builds(s.TensorType, st.one_of(names.map(s.Name), calls), _several(expressions))
tensors = st.builds(s.Tensor, names, tensor_types)
scalars = st.builds(s.Scalar, names, names, st.one_of(st.none(), expressions))
scopes = st.builds(
    s.Scope,
    names,
    _several(st.builds(s.DtypeVariable, names, _several(names, 1)), 0, 2),
    _several(tensors),
    _several(scalars, 0, 2),
    st.one_of(st.none(), names),
    _several(tensors, 1),
)
lines = st.builds(s.MeasureItem, names, _several(expressions, 1))
python_kernels = texts.map(lambda t: s.Call("python", (s.Argument(None, s.Text(t)),)))
kernels = st.one_of(names.map(s.Name), calls, python_kernels)
states = st.builds(s.CalibrateState, st.sampled_from(["good", "bad", "baseline"]), kernels)
docs = st.lists(st.from_regex(r"[ -~]{0,12}", fullmatch=True), max_size=3).map("\n".join)

contracts = st.builds(
    s.Contract,
    name=hyphened,
    version=versions,
    implements=hyphened,
    doc=docs,
    scope=scopes,
    pre=st.one_of(st.none(), expressions),
    post=_several(guarantees),
    tolerance=st.one_of(st.none(), tolerances),
    reference=st.one_of(st.none(), references),
    measure=_several(lines),
    violation=_several(names.map(s.Name)),
    calibrate=_several(states),
)
defines = st.builds(s.Define, names, _several(names), _several(assigns), expressions)
uses = st.builds(s.Use, _several(names, 1), texts)
entries = st.builds(s.ProfileEntry, hyphened, st.sampled_from([">=", "==", "<", ">", "<="]), versions, names)
entries = st.one_of(entries, st.builds(s.ProfileEntry, hyphened, st.just(">="), versions, st.just("")))
profiles = st.builds(s.Profile, hyphened, versions, _several(entries))
files = st.builds(s.File, st.just("<text>"), _several(st.one_of(contracts, defines, uses, profiles)))
