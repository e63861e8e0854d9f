"""The codes of parsing: for each its meaning and the smallest file that shows it."""

from __future__ import annotations

from kernel_contracts.language.diagnostics import register

_HEAD = "contract a version 1.0 implements C-PRC-01"
_SCOPE = "scope f (x: P[N]) -> y: P[N]"

CLAUSE_ORDER = "scope, pre, post, tolerance, reference, measure, violation, calibrate"


def _contract(*clauses: str) -> str:
    lines = "\n".join(f"  {c}" for c in (_SCOPE, *clauses))
    return f"{_HEAD}\n{{\n{lines}\n}}\n"


_FORM = (
    (
        "P101",
        "this cannot stand here",
        "The text departs from the grammar, and nothing more specific is known. The message lists what could stand\n"
        "there.",
        _contract("pre N + * 2 > 1"),
    ),
    (
        "P102",
        "the text ends too early",
        "The file ends in the middle of an item.",
        "use gelu from\n",
    ),
    (
        "P103",
        "a character that the language does not use",
        "Outside of strings and comments, a contract needs letters, digits, underscores and the marks of its grammar.",
        _contract("pre N > 1 $"),
    ),
    (
        "P104",
        "a text is not closed",
        'A text in quotes ends on the line on which it begins; a text in `"""` may run over several lines.',
        'use gelu from "nn\n',
    ),
    (
        "P105",
        "a bracket is not closed",
        "The caret shows the bracket that was opened. Which of several is meant is read from the indentation.",
        _contract("pre finite(x", "post y within tolerance of 1"),
    ),
    (
        "P106",
        "a bracket closes nothing",
        "There is one closing bracket too many, or it closes a contract too early.",
        _contract("pre N > 1)"),
    ),
    (
        "P107",
        "clause out of order",
        f"The clauses of a contract stand in one order, so that every contract reads alike: {CLAUSE_ORDER}.",
        _contract("post y within tolerance of reference", "pre N > 1"),
    ),
    (
        "P108",
        "clause repeated",
        "Each clause stands at most once: two preconditions are one, joined by `and`.",
        _contract("pre N > 1", "pre N < 9"),
    ),
    (
        "P109",
        "a contract has no scope",
        "The scope names the operation, its inputs and its outputs; every other clause speaks about these.",
        f"{_HEAD}\n{{\n  pre N > 1\n}}\n",
    ),
    (
        "P115",
        "the version is missing",
        "Contracts and profiles carry a version, because evidence refers to it.",
        f"contract a implements C-PRC-01\n{{\n  {_SCOPE}\n}}\n",
    ),
    (
        "P125",
        "a clause says nothing",
        "A keyword is followed by the next clause instead of its content.",
        _contract("pre", "post y within tolerance of reference"),
    ),
    (
        "P126",
        "the file is not UTF-8",
        "Contract files are UTF-8 text. The message names the first byte that is not.",
        "",
    ),
    (
        "P130",
        "a misspelled keyword",
        "The word is close to a keyword that could stand there.",
        _contract("post y within tolerance of reference", "tolerence derived"),
    ),
)

_EXPRESSIONS = (
    (
        "P110",
        "a hyphen in a name",
        "Names of contracts, profiles and classes may have hyphens. In expressions `a-b` is a difference, so all\n"
        "other names use underscores.",
        _contract("post policy out-of-bounds = raise"),
    ),
    ("P111", "`**` is not an operator", "Powers are written `2^16`.", _contract("pre N < 2**16")),
    (
        "P112",
        "`==` where a name is given its value",
        "`=` gives a value; `==` compares two.",
        _contract("post policy nan == propagate"),
    ),
    (
        "P113",
        "`=` where two values are compared",
        "`==` compares; `=` gives a value to a name.",
        _contract("pre N = 4"),
    ),
    (
        "P117",
        "a reserved word as a name",
        "`and`, `or`, `not` and `in` are never names.",
        "define not(x) = x\n",
    ),
    (
        "P123",
        "an expression is nested too deeply",
        "No formula needs a hundred brackets inside one another; parts of it can have names.",
        f"define f(x) = {'(' * 100}x{')' * 100}\n",
    ),
    (
        "P124",
        "a malformed number",
        "Numbers have a digit on both sides of the point; names begin with a letter; products are written with `*`.",
        _contract("pre N < 2N"),
    ),
    (
        "P129",
        "two words where one value is due",
        "Values in brackets are separated by commas; a name of several words uses underscores.",
        _contract("calibrate { bad mutant(accumulate fp16) }"),
    ),
    (
        "P131",
        "an operator of another language",
        "Logic is written in words: `and`, `or`, `not`.",
        _contract("pre N > 1 && N < 9"),
    ),
)

_CLAUSES = (
    (
        "P114",
        "`of` is missing",
        "A relative tolerance says relative to what, and an ulp tolerance of which format. Without it the number\n"
        "means nothing.",
        _contract("post y within tolerance of reference", "tolerance relative 1e-3"),
    ),
    (
        "P116",
        "a colon is missing",
        "Inputs and outputs are written `name: type`.",
        f"{_HEAD}\n{{\n  scope f (x P[N]) -> y: P[N]\n}}\n",
    ),
    (
        "P118",
        "`bitwise equal` to what?",
        "Equality is to a reference, or between the results across a variation.",
        _contract("post y bitwise equal where N > 1"),
    ),
    (
        "P119",
        "a tolerance cannot be subtracted",
        "Tolerances are joined by `+` (their sum) or `and` (both must hold).",
        _contract("tolerance absolute 1e-3 - absolute 1e-6"),
    ),
    (
        "P120",
        "a measure line without items",
        "Every line of `measure` is a keyword and at least one item on the same line.",
        _contract("measure {", "  freivalds", "  samples", "}"),
    ),
    (
        "P121",
        "`unchanged` takes names",
        "`x unchanged` says that the call leaves the input as it was; an expression has no storage to change.",
        _contract("post x + 1 unchanged"),
    ),
    (
        "P122",
        "a condition claims nothing by itself",
        "`post` lists what the operation guarantees. A condition on the inputs is a precondition, a restriction\n"
        "(`where`), or a demand with a consequence (`or raise`).",
        _contract("post N > 1"),
    ),
    (
        "P127",
        "a definition without its result",
        "A definition in braces ends with `return EXPRESSION`.",
        "define f(x) {\n  m = max(x)\n}\n",
    ),
    (
        "P128",
        "a default value among the tensors",
        "Scalar parameters follow the tensors after `;`, and only they have defaults.",
        f"{_HEAD}\n{{\n  scope f (x: P[N], eps: real = 1e-5) -> y: P[N]\n}}\n",
    ),
    (
        "P132",
        "a result with an arithmetic of its own",
        "`in fp32` belongs to a statement; the result of a definition is an expression. Give the value a name first.",
        "define f(x) = x * x in fp32\n",
    ),
    (
        "P133",
        "`away from range ends` without `bitwise equal`",
        "Near the ends of the range scaling is not exact; only a bitwise claim needs the exception.",
        _contract("post y within tolerance of reference where N > 1 and N < 9 away from range ends"),
    ),
)


def register_all() -> None:
    """Make the codes known."""
    for code, title, explanation, example in (*_FORM, *_EXPRESSIONS, *_CLAUSES):
        register(code, title, explanation.replace("\n", " "), example)
