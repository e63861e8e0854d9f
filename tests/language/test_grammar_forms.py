"""Every form of the grammar gives the tree that it should."""

from __future__ import annotations

import pytest

from kernel_contracts.errors import LanguageError, UsageError
from kernel_contracts.language import syntax as s
from kernel_contracts.language.parser import parse, parse_expression, parse_file
from kernel_contracts.language.printer import print_node

HEAD = "contract a-b version 1.0 implements C-PRC-01 {\n  scope f (x: P[N]) -> y: P[N]\n"


def contract(*clauses: str) -> s.Contract:
    (item,) = parse(HEAD + "\n".join(clauses) + "\n}").items
    assert isinstance(item, s.Contract)
    return item


def n(name: str) -> s.Name:
    return s.Name(name)


def num(text: str) -> s.Number:
    return s.Number(text)


def post(text: str) -> tuple[s.Guarantee, ...]:
    return contract(f"post {text}").post


def tolerance(text: str) -> s.Tolerance | None:
    return contract(f"tolerance {text}").tolerance


@pytest.mark.parametrize(
    ("text", "brackets"),
    [
        ("a + b * c", "(a + (b * c))"),
        ("a - b - c", "((a - b) - c)"),
        ("a / b * c // d % e @ f", "(((((a / b) * c) // d) % e) @ f)"),
        ("2^-3^2", "(2 ^ (-(3 ^ 2)))"),
        ("-x^2", "(-(x ^ 2))"),
        ("-a * b", "((-a) * b)"),
        ("1..n + 1", "(1 .. (n + 1))"),
        ("not a == b", "(not (a == b))"),
        ("not a and b or c", "(((not a) and b) or c)"),
        ("a or b and c", "(a or (b and c))"),
        ("0 <= i < V", "((0 <= i) and (i < V))"),
        ("a < b < c <= d", "(((a < b) and (b < c)) and (c <= d))"),
        ("N in 1..4 and finite(A)", "((N in (1 .. 4)) and finite(A))"),
        ("M, N in {1, 2}", "(M, N in {1, 2})"),
        ("finite(A) and M, N + 1 in 1..4", "(finite(A) and (M, (N + 1) in (1 .. 4)))"),
        ("(M, N in 1..4) or x", "((M, N in (1 .. 4)) or x)"),
        ("f(a, axis = -1, keep,)", "f(a, axis = (-1), keep)"),
        ("f()", "f()"),
        ("[1, 0x1F, 1.5e-3]", "[1, 0x1F, 1.5e-3]"),
        ("f(x in {a}, [], {})", "f((x in {a}), [], {})"),
        (r'f("a \"b\"\\\n")', r'f("a \"b\"\\\n")'),
    ],
)
def test_precedence(text: str, brackets: str) -> None:
    assert full(parse_expression(text)) == brackets


def full(e: s.Expr) -> str:
    """The expression with every bracket."""
    match e:
        case s.Binary():
            return f"({full(e.left)} {e.op} {full(e.right)})"
        case s.Unary():
            return f"({e.op}{' ' if e.op == 'not' else ''}{full(e.operand)})"
        case s.Call():
            given = [f"{a.keyword} = {full(a.value)}" if a.keyword else full(a.value) for a in e.arguments]
            return f"{e.function}({', '.join(given)})"
        case s.Listing():
            return f"[{', '.join(map(full, e.items))}]"
        case s.Choice():
            return f"{{{', '.join(map(full, e.items))}}}"
        case s.Group():
            return ", ".join(map(full, e.items))
    return print_node(e)


def test_numbers_keep_their_text_and_have_a_value() -> None:
    values = [parse_expression(t).value for t in ("0x10", "65536", "1e-5", "1.5")]  # type: ignore[union-attr]
    assert values == [16, 65536, 1e-5, 1.5]
    assert [type(v) for v in values] == [int, int, float, float]


def test_scope_in_full() -> None:
    text = """contract c version 1 implements C-ORD-03 { scope g for P in {fp16, bf16}, Q in {fp32}
      (A: P[M // 2, 2 * D + 1], b: Q, c: P[]; eps: real = 1e-5, causal: bool = false, plan: schedules)
      on ranks W -> C: max(P, fp32)[M], idx: int64[M] }"""
    (item,) = parse(text).items
    assert isinstance(item, s.Contract)
    scope = item.scope
    assert scope.operation == "g"
    assert scope.variables == (s.DtypeVariable("P", ("fp16", "bf16")), s.DtypeVariable("Q", ("fp32",)))
    assert [t.name for t in scope.inputs] == ["A", "b", "c"]
    assert scope.inputs[0].type.dims[0] == s.Binary("//", n("M"), num("2"))
    assert scope.inputs[1].type == s.TensorType(n("Q"), ())
    assert scope.inputs[2].type == s.TensorType(n("P"), ())
    assert scope.scalars[0] == s.Scalar("eps", "real", num("1e-5"))
    assert scope.scalars[1] == s.Scalar("causal", "bool", n("false"))
    assert scope.scalars[2] == s.Scalar("plan", "schedules", None)
    assert scope.ranks == "W"
    assert scope.outputs[0].type.dtype == s.Call("max", (s.Argument(None, n("P")), s.Argument(None, n("fp32"))))
    assert scope.outputs[1] == s.Tensor("idx", s.TensorType(n("int64"), (n("M"),)))


@pytest.mark.parametrize("inputs", ["()", "(; n: int)"])
def test_inputs_may_be_empty(inputs: str) -> None:
    (item,) = parse(f"contract c version 1 implements X {{ scope g {inputs} -> y: fp32[] }}").items
    assert isinstance(item, s.Contract)
    assert item.scope.inputs == ()


def test_header_and_docstring() -> None:
    text = 'contract C-FA3-NUM version 1.2.3 implements C-PRC-01\n"""One\n   two  \n"""\n{ scope g () -> y: P }'
    (item,) = parse(text).items
    assert isinstance(item, s.Contract)
    assert (item.name, item.version, item.implements) == ("C-FA3-NUM", "1.2.3", "C-PRC-01")
    assert item.doc == "One\ntwo"
    assert item.place("header").end_line == 1
    assert item.place("doc").line == 2
    assert (item.place("body").line, item.place("scope").column) == (5, 3)
    assert item.place("post") == item.span


TEN = (s.Call("runs", (s.Argument(None, num("10")),)),)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("y within tolerance of reference", s.Within(n("y"), n("reference"), None, ())),
        ("y within tolerance of 1 across runs(10)", s.Within(n("y"), num("1"), None, TEN)),
        (
            "sum(y) within tolerance of 1 where a across runs(10)",
            s.Within(s.Call("sum", (s.Argument(None, n("y")),)), num("1"), n("a"), TEN),
        ),
        ("y bitwise equal reference", s.Bitwise(n("y"), n("reference"), None, (), False)),
        ("y bitwise equal across runs(10)", s.Bitwise(n("y"), None, None, TEN, False)),
        ("y bitwise equal across runs(10) away from range ends", s.Bitwise(n("y"), None, None, TEN, True)),
        ("y bitwise equal away from range ends", s.Bitwise(n("y"), None, None, (), True)),
        ("y bitwise equal where a and b across runs(10)", s.Bitwise(
            n("y"), None, s.Binary("and", n("a"), n("b")), TEN, False)),
        ("x unchanged", s.Unchanged(("x",))),
        ("x, z unchanged", s.Unchanged(("x", "z"))),
        ("policy nan = propagate or mask", s.Policy("nan", (n("propagate"), n("mask")), ())),
        ("policy oob = raise across runs(10)", s.Policy("oob", (n("raise"),), TEN)),
        ("N > 1 or raise BAD", s.OrRaise(s.Binary(">", n("N"), num("1")), "BAD")),
        ("a or b or raise BAD", s.OrRaise(s.Binary("or", n("a"), n("b")), "BAD")),
        ("a and b or raise BAD", s.OrRaise(s.Binary("and", n("a"), n("b")), "BAD")),
        ("(a or b) and c or raise BAD", s.OrRaise(s.Binary("and", s.Binary("or", n("a"), n("b")), n("c")), "BAD")),
        ("as gemm-accumulator across runs(10)", s.Companion("gemm-accumulator", TEN)),
        ("as gemm", s.Companion("gemm", ())),
    ],
)  # fmt: skip
def test_one_guarantee(text: str, tree: s.Guarantee) -> None:
    assert post(text) == (tree,)
    alone = post(f"z unchanged and {text} and policy nan = mask")
    assert alone == (s.Unchanged(("z",)), tree, s.Policy("nan", (n("mask"),), ()))


@pytest.mark.parametrize(
    ("condition", "tree"),
    [
        ("a and b", "(a and b)"),
        ("a or b and c", "(a or (b and c))"),
        ("a and b or c and d", "((a and b) or (c and d))"),
        ("(a or b) and c", "((a or b) and c)"),
        ("0 <= i < V and not b", "(((0 <= i) and (i < V)) and (not b))"),
        ("M, N in 1..4 and c", "((M, N in (1 .. 4)) and c)"),
    ],
)
@pytest.mark.parametrize(
    "after", ["", " and policy nan = mask", " and x, z unchanged", " and N > 1 or raise BAD", " and as other"]
)
def test_where_goes_on_up_to_the_next_guarantee(condition: str, tree: str, after: str) -> None:
    first, *rest = post(f"y bitwise equal reference where {condition}{after}")
    assert isinstance(first, s.Bitwise)
    assert first.where is not None
    assert full(first.where) == tree
    assert len(rest) == (1 if after else 0)


def test_the_span_of_a_where_covers_all_of_it() -> None:
    (node,) = post("y within tolerance of 1 where a and b across runs(10)")
    assert node.span.end_column - node.span.column == len("y within tolerance of 1 where a and b across runs(10)")


ABS = s.Absolute(num("1"))
REL = s.Relative(num("2"), s.Call("abs", (s.Argument(None, n("y")),)))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("derived", s.Derived(())),
        ("derived with a = b(1), c = 2", s.Derived((
            s.Argument("a", s.Call("b", (s.Argument(None, num("1")),))), s.Argument("c", num("2"))))),
        ("absolute 1", ABS),
        ("relative 2 of abs(y)", REL),
        ("ulp 2 of P", s.Ulp(num("2"), n("P"))),
        ("none", s.NoTolerance()),
        ("a * b + 1e-6", s.Elementwise(s.Binary("+", s.Binary("*", n("a"), n("b")), num("1e-6")))),
        ("a - b", s.Elementwise(s.Binary("-", n("a"), n("b")))),
        ("relative 2 of abs(y) + absolute 1", s.Joined("+", (REL, ABS))),
        ("absolute 1 + a + b", s.Joined("+", (ABS, s.Elementwise(s.Binary("+", n("a"), n("b")))))),
        ("a + b + absolute 1", s.Joined("+", (s.Elementwise(s.Binary("+", n("a"), n("b"))), ABS))),
        ("absolute 1 and a and none", s.Joined("and", (ABS, s.Elementwise(n("a")), s.NoTolerance()))),
        ("absolute 1 + a and none", s.Joined("and", (
            s.Joined("+", (ABS, s.Elementwise(n("a")))), s.NoTolerance()))),
        ("per P { fp16: absolute 1, bf16: relative 2 of abs(y) and absolute 1 }", s.PerFormat("P", (
            ("fp16", ABS), ("bf16", s.Joined("and", (REL, ABS)))))),
        ("per P { a: derived with b = c, d = e, f: none, }", s.PerFormat("P", (
            ("a", s.Derived((s.Argument("b", n("c")), s.Argument("d", n("e"))))), ("f", s.NoTolerance())))),
        ("per P { a: derived with b = c, # then\n f: none }", s.PerFormat("P", (
            ("a", s.Derived((s.Argument("b", n("c")),))), ("f", s.NoTolerance())))),
    ],
)  # fmt: skip
def test_one_tolerance(text: str, tree: s.Tolerance) -> None:
    assert tolerance(text) == tree


@pytest.mark.parametrize("between", ["\n", "; ", " "])
def test_statements_of_a_reference(between: str) -> None:
    first, second = "m = max(x) in fp32", "y = x - m in max(P, fp32)"
    reference = contract(f"reference {{ {first}{between}{second}{between}z = (x in {{1}}) }}").reference
    assert isinstance(reference, s.Program)
    targets = [(a.target, None if a.format is None else print_node(a.format)) for a in reference.statements]
    assert targets == [("m", "fp32"), ("y", "max(P, fp32)"), ("z", None)]
    assert reference.statements[2].value == s.Binary("in", n("x"), s.Choice((num("1"),)))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ('python "m:f" in fp32', s.PythonReference("m:f", n("fp32"))),
        ('python "m:f"', s.PythonReference("m:f", None)),
        ("property idempotent(f)", s.Property(s.Call("idempotent", (s.Argument(None, n("f")),)))),
        ("specification ieee754", s.Specification("ieee754")),
    ],
)
def test_other_references(text: str, tree: s.Reference) -> None:
    assert contract(f"reference {text}").reference == tree


def test_measure_violation_and_calibrate() -> None:
    item = contract(
        "measure { inputs normal, offset(1..1e4) shapes one samples 64 sweep D in {63, 64} }",
        "violation a, b",
        'calibrate { good emulated bad mutant(accumulate(fp16)) bad python "k.py:f" baseline zeros }',
    )
    assert [m.keyword for m in item.measure] == ["inputs", "shapes", "samples", "sweep"]
    assert item.measure[0].items[1] == parse_expression("offset(1..1e4)")
    assert item.measure[3].items == (parse_expression("D in {63, 64}"),)
    assert item.violation == (n("a"), n("b"))
    assert [c.state for c in item.calibrate] == ["good", "bad", "bad", "baseline"]
    assert item.calibrate[1].kernel == parse_expression("mutant(accumulate(fp16))")
    assert item.calibrate[2].kernel == s.Call("python", (s.Argument(None, s.Text("k.py:f")),))


def test_use_define_and_profile() -> None:
    use, short, long, profile = parse(
        'use a, b from "nn"\ndefine f() = 1\ndefine g(x, y) { m = x in fp32; return m + y; }\n'
        "profile p-q version 2 { a-b >= 1.0 at L3 c == 2 }"
    ).items
    assert use == s.Use(("a", "b"), "nn")
    assert short == s.Define("f", (), (), num("1"))
    assert long == s.Define("g", ("x", "y"), (s.Assign("m", n("x"), n("fp32")),), parse_expression("m + y"))
    assert profile == s.Profile(
        "p-q", "2", (s.ProfileEntry("a-b", ">=", "1.0", "L3"), s.ProfileEntry("c", "==", "2", ""))
    )


def test_keywords_are_names_where_they_mean_nothing() -> None:
    assert parse_expression("derived + version * policy") == parse_expression("(derived) + (version * policy)")
    assert contract("reference { good = measure(post) in fp32 }").reference is not None


def test_comments_stand_anywhere() -> None:
    text = "# a\ndefine f( # b\n x # c\n) = # d\n x # e"
    assert parse(text) == parse("define f(x) = x")


@pytest.mark.parametrize("text", ["", "# only a comment", "\n\n"])
def test_a_file_may_be_empty(text: str) -> None:
    assert parse(text).items == ()


def test_line_ends_and_tabs_do_not_matter() -> None:
    text = HEAD + "\tpre N > 1\n}\n"
    assert parse(text.replace("\n", "\r\n")) == parse(text)


def test_spans_are_exact() -> None:
    expr = parse_expression("alpha +\n  beta(1)")
    assert isinstance(expr, s.Binary)
    assert (expr.span.line, expr.span.column, expr.span.end_line, expr.span.end_column) == (1, 1, 2, 10)
    assert (expr.right.span.line, expr.right.span.column, expr.right.span.end_column) == (2, 3, 10)
    assert (expr.left.span.column, expr.left.span.end_column) == (1, 6)


def test_a_file_on_disk(tmp_path) -> None:
    path = tmp_path / "a.kc"
    path.write_bytes(b"\xef\xbb\xbfdefine f(x) = x\n")
    file = parse_file(path)
    assert file.path == str(path)
    assert file.items[0].span.file == str(path)
    with pytest.raises(UsageError, match=r"missing\.kc: cannot read .* check the path"):
        parse_file(tmp_path / "missing.kc")
    path.write_bytes(b"define f(x) =\n x \xff\n")
    with pytest.raises(LanguageError) as caught:
        parse_file(path)
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.line, found.span.column) == ("P126", 2, 4)


def test_deep_nesting_is_a_finding_not_a_crash() -> None:
    with pytest.raises(LanguageError) as caught:
        parse(f"define f(x) = {'(' * 3000}x{')' * 3000}")
    assert [d.code for d in caught.value.diagnostics] == ["P123"]


def test_what_is_not_too_deep_prints_too() -> None:
    for text in (f"{'(x + ' * 60}x{')' * 60}", " + ".join("x" * 150), "^".join("x" * 90)):
        tree = parse_expression(text)
        assert parse_expression(print_node(tree)) == tree
