"""The codes that elaboration raises, each with its explanation and the smallest file that shows it."""

from __future__ import annotations

from kernel_contracts.language.diagnostics import register


def _contract(
    *,
    scope: str = "",
    reference: str = "",
    pre: str = "",
    post: str = "",
    tolerance: str = "",
    rest: str = "",
    cls: str = "C-PRC-01",
) -> str:
    lines = [
        f"contract example version 1.0 implements {cls}",
        "{",
        f"  scope     {scope or 'double for P in {fp32} (x: P[N]) -> y: P[N]'}",
        f"  pre       {pre or 'N in 1..1024'}",
        f"  post      {post or 'y within tolerance of reference'}",
        f"  tolerance {tolerance or 'derived'}",
        f"  reference {{ {reference or 'y = x + x'} }}",
    ]
    return "\n".join([*lines, *([f"  {rest}"] if rest else []), "}"]) + "\n"


_TABLE: tuple[tuple[str, str, str, str], ...] = (
    (
        "N201",
        "an unknown name",
        "A reference uses inputs, parameters, sizes and names assigned before.",
        _contract(reference="y = x + z"),
    ),
    ("N202", "an unknown size", "A size is a dim of the scope.", _contract(reference="y = reshape(x, [M])")),
    (
        "N203",
        "an unknown number format",
        "Formats are named as in `kc list formats`.",
        _contract(scope="double for P in {fp31} (x: P[N]) -> y: P[N]"),
    ),
    (
        "N204",
        "a name without a value here",
        "Before any kernel runs only sizes, parameters and (in a tolerance) inputs have values.",
        _contract(pre="N in 1..1024 and K < 3"),
    ),
    (
        "N205",
        "an unknown function",
        "The functions of references and tolerances are listed in the language reference.",
        _contract(reference="y = expo(x)"),
    ),
    (
        "N206",
        "a definition that calls itself",
        "Definitions are inlined where they are called, so they cannot recurse.",
        "define f(x) = f(x)\n\n" + _contract(reference="y = f(x)"),
    ),
    (
        "N207",
        "not an input",
        "`finite` and `positive` speak of inputs of the scope.",
        _contract(pre="N in 1..1024 and finite(z)"),
    ),
    (
        "N208",
        "not an output",
        "`reference(y)` gives the oracle's value of an output.",
        _contract(tolerance="absolute 1e-3 * max(abs(reference(z)))"),
    ),
    (
        "N209",
        "an unknown contract class",
        "A contract implements one of the twelve classes; see `kc list classes`.",
        _contract(cls="C-PRC-99"),
    ),
    (
        "N210",
        "an unknown signature",
        "Violation clauses name signatures; see `kc list signatures`.",
        _contract(rest="violation exploded"),
    ),
    (
        "N211",
        "an unknown input or shape family",
        "See `kc list inputs`.",
        _contract(rest="measure { inputs gaussian }"),
    ),
    (
        "N213",
        "an unknown library or definition",
        '`use NAME from "nn"` reads the library that comes with the package, `from "file.kc"` a file beside this one.',
        'use gelu from "nowhere"\n\n' + _contract(),
    ),
    (
        "N214",
        "a name used twice",
        "Names in a scope, and contracts in a file, are unique.",
        _contract(scope="add (x: fp32[N], x: fp32[N]) -> y: fp32[N]"),
    ),
    (
        "N215",
        "an unknown policy or choice",
        "Policies and their choices form a closed list.",
        _contract(post="policy nan = ignore"),
    ),
    (
        "N216",
        "a Python reference that cannot be loaded",
        "The module must be importable, or a file beside the contract.",
        _contract(reference="").replace("reference { y = x + x }", 'reference python "nowhere:f"'),
    ),
    (
        "N217",
        "an unknown companion",
        "`as NAME` takes over the guarantees of another contract of the same file.",
        _contract(post="as nothing"),
    ),
    (
        "N218",
        "schedules or calls that mean nothing",
        "`across schedules` needs a parameter of type schedules; `across calls(n)` takes a number from 2 to 100.",
        _contract(post="y within tolerance of reference across schedules"),
    ),
    (
        "T301",
        "not a size",
        "Sizes are whole numbers made of dims.",
        _contract(scope="double (x: fp32[N]) -> y: fp32[1.5]"),
    ),
    (
        "T302",
        "not a format",
        "A dtype is a format, a dtype variable or max(P, fp32); a parameter is real, int or bool.",
        _contract(scope="double (x: fp32[N]; eps: number = 1) -> y: fp32[N]"),
    ),
    (
        "T303",
        "not known before inputs are",
        "Sizes, parameters and numbers are known before any input is; arrays are not.",
        _contract(pre="N in 1..1024 and sum(x) < 3"),
    ),
    (
        "T304",
        "shapes or dtypes that do not fit",
        "Every operation of a reference is typed before anything runs.",
        _contract(scope="add (x: fp32[N], z: fp32[M]) -> y: fp32[N]", reference="y = x + z"),
    ),
    (
        "T305",
        "not an array expression",
        "A reference computes with arrays and numbers.",
        _contract(reference="y = [x, x]"),
    ),
    (
        "T306",
        "a wrong number of arguments",
        "A definition takes each of its parameters once.",
        "define f(a, b) = a + b\n\n" + _contract(reference="y = f(x)"),
    ),
    ("T307", "wrong operands", "The message shows how the function is written.", _contract(reference="y = exp(x, x)")),
    ("T308", "a missing or impossible axis", "Some functions need an axis.", _contract(reference="y = cumsum(x)")),
    ("T309", "not a shape", "A shape is a list of sizes.", _contract(reference="y = reshape(x, N)")),
    ("T310", "not a range or set", "Membership asks for low..high or {a, b}.", _contract(pre="N in 7")),
    ("T311", "an empty range", "No size would meet the precondition.", _contract(pre="N in 9..3")),
    ("T312", "not a condition", "A precondition is true or false.", _contract(pre="N in 1..1024 and N + 1")),
    (
        "T313",
        "not a tolerance expression",
        "A tolerance is a number or an expression over sizes, inputs and the reference.",
        _contract(tolerance="absolute N // 2"),
    ),
    (
        "T314",
        "an output of another type",
        "The reference must give what the scope declares, and say where it is rounded.",
        _contract(scope="double (x: fp32[N]) -> y: bf16[N]"),
    ),
    (
        "T315",
        "no reference for an output",
        "Without a reference nothing says what the right answer is.",
        _contract(reference="z = x + x"),
    ),
    (
        "S401",
        "a circular tolerance",
        "A tolerance that mentions the candidate's output lets the kernel set it. Write reference(y).",
        _contract(tolerance="relative 1e-3 of abs(y)"),
    ),
    (
        "S402",
        "a tolerance that cannot be met",
        "It is tighter than the output format's own rounding, so correct kernels would be accused.",
        _contract(
            scope="double for P in {bf16} (x: P[N]) -> y: P[N]",
            reference="y = round(x + x, P) in fp32",
            tolerance="relative 1e-3 of abs(reference)",
        ),
    ),
    (
        "S403",
        "a tolerance that says nothing",
        "A kernel that returns zeros would conform.",
        _contract(tolerance="relative 1 of abs(reference)"),
    ),
    (
        "S404",
        "a sum too long for its accumulator",
        "gamma_n = n u / (1 - n u) is a bound only while n u < 1/2.",
        _contract(scope="sum for P in {fp16} (x: P[N]) -> y: P[]", pre="N in 1..4096", reference="y = sum(x) in fp16"),
    ),
    (
        "S405",
        "a format without an entry",
        "`per P { ... }` needs an entry for every choice of P.",
        _contract(tolerance="per P { fp16: ulp 2 of fp16 }"),
    ),
    (
        "S406",
        "an unknown option of derived",
        "Options are summation and the ulp budget of a function.",
        _contract(tolerance="derived with order = pairwise"),
    ),
    (
        "M501",
        "a signature that no input can show",
        "A violation clause names defects that the declared inputs can reveal.",
        _contract(cls="C-PRC-02", rest="measure { inputs normal }\n  violation accumulator_narrowed"),
    ),
    (
        "M502",
        "not an item of measure",
        "Items are names, or names with numbers.",
        _contract(rest="measure { inputs 3 }"),
    ),
    (
        "M503",
        "not a number of samples",
        "samples is a whole number of at least 1.",
        _contract(rest="measure { samples 0 }"),
    ),
)

for _code, _title, _explanation, _example in _TABLE:
    register(_code, _title, _explanation, _example)
