"""From a place where the grammar stops to what is wrong and what to do. Typical mistakes are recognized by small rules,
tried in order; the last ones hold for any text. Each rule answers for one code and knows nothing of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from kernel_contracts.language import parse_codes
from kernel_contracts.language.diagnostics import Diagnostic, nearest
from kernel_contracts.language.mistake import Mistake, expected, keyword
from kernel_contracts.language.scan import CLAUSES, ITEMS, RESERVED, Raw, imbalance

parse_codes.register_all()

_TOLERANCES = ("derived", "absolute", "relative", "ulp", "per", "none")
_MARKS = {*'()[]{},:;+-*/%@^<>=."', "..", "->", "<=", ">=", "==", "!=", "//"}
_SPELLED = {"≤": "<=", "≥": ">=", "≠": "!=", "×": "*", "·": "*", "−": "-", "∈": "in", "→": "->"}
_WORDS_FOR = {"&&": "and", "&": "and", "||": "or", "|": "or", "!": "not"}


def _string(m: Mistake) -> Diagnostic | None:
    if m.word(0) != '"':
        return None
    return m.report("P104", hint='close it with `"` on the same line, or use `"""` for a text of several lines.')


def _bracket(m: Mistake) -> Diagnostic | None:
    here = m.at(0)
    offset = here.offset if here else len(m.text)
    found = imbalance(m.tokens)
    if found is None:
        return None
    bracket = found.bracket
    if found.opening:
        if bracket.offset >= offset or (found.seen and found.seen.offset < offset):
            return None
        hint = f"add `{ {'(': ')', '[': ']', '{': '}'}[bracket.text] }` where it ends."
        return m.report("P105", f"`{bracket.text}` is never closed", hint, span=bracket.span(m.path))
    if bracket.offset == offset:
        return m.report("P106", f"`{bracket.text}` closes nothing", "remove it, or open what it should close.")
    if m.word(0) in CLAUSES and m.word(-1) == "}" and (last := m.at(-1)):
        text = f"this `}}` ends the contract before its clause `{m.word(0)}`"
        return m.report("P106", text, "remove it.", span=last.span(m.path))
    return None


def _number(m: Mistake) -> Diagnostic | None:
    here, last, after = m.at(0), m.at(-1), m.at(1)
    if here is None:
        return None
    if here.kind == "number" and after and after.kind == "word" and m.touching(0):
        wrong = here.text + after.text
        hint = "a name begins with a letter; a product needs its `*`."
        return m.report("P124", f"`{wrong}` is neither a number nor a name", hint, span=m.run(0, 1))
    if here.text == "." and after and after.kind == "number" and m.touching(0):
        return m.report("P124", f"`.{after.text}` lacks its first digit", f"write `0.{after.text}`.")
    if here.text == "." and last and last.kind == "number" and m.touching(-1):
        return m.report("P124", f"`{last.text}.` lacks a digit after the point", f"write `{last.text}.0`.")
    return None


def _operator(m: Mistake) -> Diagnostic | None:
    mark = m.word(0)
    if mark == "**":
        return m.report("P111", hint="write `^`, as in `2^16`.")
    if mark in _WORDS_FOR:
        return m.report("P131", f"`{mark}` is not an operator here", f"write `{_WORDS_FOR[mark]}`.")
    if mark == "==" and "_ASSIGN" in m.accepts:
        return m.report("P112", hint=f"write `{m.word(-1)} = ...`.", expected="`=`")
    if mark == "=" and m.clause == "scope" and "SEMICOLON" in m.accepts:
        hint = "put scalar parameters after `;`, as in `(x: P[N]; eps: real = 1e-5)`."
        return m.report("P128", hint=hint)
    if mark == "=" and "MULOP" in m.accepts:
        return m.report("P113", hint="write `==` to compare.", expected=expected(m.accepts))
    return None


def _hyphen(m: Mistake) -> Diagnostic | None:
    last = m.at(-1)
    if m.word(0) != "-" or last is None or last.kind != "word" or "MULOP" in m.accepts:
        return None
    end = -1
    while m.touching(end) and m.touching(end + 1) and m.word(end + 1) == "-":
        end += 2
    if end == -1:
        return None
    whole = "".join(m.word(i) for i in range(-1, end + 1))
    hint = f"write `{whole.replace('-', '_')}`; only contracts, profiles and classes have hyphens in their names."
    return m.report("P110", f"`{whole}` cannot be a name here", hint, span=m.run(-1, end))


def _empty_clause(m: Mistake) -> Diagnostic | None:
    """The next clause's keyword was taken for the content of this one, or nothing follows at all."""
    here, last, before = m.at(0), m.at(-1), m.at(-2)
    if last is None or last.text not in CLAUSES:
        return None
    if here is None or here.text in CLAUSES or here.text == "}":
        if before and before.text in ("of", "equal", "within"):
            return None
        return _nothing(m, last)
    if before and before.text in CLAUSES and before.text != last.text:
        return _nothing(m, before)
    if before and last.first and "MULOP" in m.accepts:
        text = f"something is missing before the clause `{last.text}`"
        return m.report("P125", text, f"end what `{before.text}` begins.", span=before.span(m.path))
    return None


def _nothing(m: Mistake, keyword: Raw) -> Diagnostic:
    clause = keyword.text
    form = {
        "scope": "scope OPERATION (inputs) -> outputs",
        "pre": "pre CONDITION",
        "post": "post OUTPUT within tolerance of reference",
        "tolerance": "tolerance derived",
        "violation": "violation SIGNATURE, ...",
    }.get(clause, f"{clause} {{ ... }}")
    hint = f"write `{form}`, or remove the clause."
    return m.report("P125", f"the clause `{clause}` says nothing", hint, span=keyword.span(m.path))


def _of(m: Mistake) -> Diagnostic | None:
    if m.word(0) == "of" and m.clause == "tolerance":
        meant = "say what is meant: `relative 1e-3 of abs(y)` or `ulp 2 of P`."
        return m.report("P101", "`of` cannot stand here in `tolerance`", meant, expected=expected(m.accepts))
    if "_OF" not in m.accepts or "MULOP" not in m.accepts:
        return None
    form = next((t for t in reversed(m.tokens[: m.index]) if t.text in ("relative", "ulp")), None)
    if form is None:
        return None
    hint = {"relative": "say relative to what: `relative 1e-3 of abs(y)`.", "ulp": "say of which format: `ulp 2 of P`."}
    lacks = "size before `of`" if m.word(-1) == "of" else "`of`"
    return m.report("P114", f"`{form.text}` lacks its {lacks}", hint[form.text], span=form.span(m.path))


def _version(m: Mistake) -> Diagnostic | None:
    if "_VERSION" not in m.accepts:
        return None
    end = " implements C-PRC-01 {" if m.item == "contract" else " {"
    hint = f"write `{m.item} {_hyphened(m)} version 1{'.0' if m.item == 'contract' else ''}{end}`."
    return m.report("P115", f"the {m.item} `{_hyphened(m)}` has no version", hint, expected="`version`")


def _level(m: Mistake) -> Diagnostic | None:
    last, before = m.at(-1), m.at(-2)
    if m.item != "profile" or "COMPARATOR" not in m.accepts or last is None:
        return None
    if before is None or before.kind != "number" or before.line != last.line:
        return None
    return m.report("P101", f"`{last.text}` cannot stand here", f"write `at {last.text}`.", span=last.span(m.path))


def _hyphened(m: Mistake) -> str:
    """The name, hyphens included, that stands before here."""
    start = max(i for i in range(m.index) if m.tokens[i].text == m.item)
    return "".join(t.text for t in m.tokens[start + 1 : m.index])


def _colon(m: Mistake) -> Diagnostic | None:
    here = m.at(0)
    if "COLON" not in m.accepts or here is None or here.kind != "word" or m.clause != "scope":
        return None
    hint = f"write `{m.word(-1)}: {m.word(0)}`."
    return m.report("P116", f"`{m.word(-1)}` lacks the colon before its type", hint, expected="`:`")


def _reserved(m: Mistake) -> Diagnostic | None:
    if m.word(0) not in RESERVED or not m.accepts & {"NAME", "ID"} or "LPAR" in m.accepts:
        return None
    return m.report("P117", f"`{m.word(0)}` cannot be a name", "choose another name.", expected="a name")


def _define(m: Mistake) -> Diagnostic | None:
    if m.word(0) == "}" and "_RETURN" in m.accepts:
        return m.report("P127", hint="end the definition with `return EXPRESSION`.")
    if m.word(0) == "in" and m.item == "define":
        hint = "name the value first: `define f(x) { r = x * x in fp32  return r }`."
        return m.report("P132", hint=hint)
    return None


def _first_word(m: Mistake) -> Diagnostic | None:
    """A slip in the word that begins a guarantee or a tolerance: it was taken for a name."""
    last = m.at(-1)
    if last is None or last.kind != "word" or m.word(-2) not in ("tolerance", "post", "and", "+", ":"):
        return None
    close = _close(last.text, {"tolerance": _TOLERANCES, "post": ("policy", "as")}.get(m.clause, ()))
    if close is None or close == last.text:
        return None
    text = f"`{last.text}` begins no {'tolerance' if m.clause == 'tolerance' else 'guarantee'}"
    return m.report("P130", text, f"did you mean `{close}`?", span=last.span(m.path))


def _spelling(m: Mistake) -> Diagnostic | None:
    here = m.at(0)
    if here is None or here.kind != "word" or here.text in CLAUSES + ITEMS:
        return None
    states = ("good", "bad", "baseline") if "STATE" in m.accepts else ()
    close = _close(here.text, [*states, *filter(None, map(keyword, m.accepts))])
    if close is None or close == here.text:
        return None
    return m.report("P130", f"`{here.text}` cannot stand here", f"did you mean `{close}`?")


def _close(word: str, words: Sequence[str]) -> str | None:
    """A keyword that differs by a slip of the hand; short words differ too easily to guess."""
    close = nearest(word, words) if len(word) > 2 else None
    return close if close and SequenceMatcher(None, word.lower(), close).ratio() > 0.7 else None


def _two_words(m: Mistake) -> Diagnostic | None:
    here, last = m.at(0), m.at(-1)
    if not (here and last and here.kind == last.kind == "word" and {"COMMA", "RPAR"} <= m.accepts):
        return None
    if "MULOP" not in m.accepts:
        return None
    first, second = last.text, here.text
    hint = f"write `{first}_{second}` for one name, `{first}({second})` for a call, `{first}, {second}` for two."
    return m.report("P129", f"`{first} {second}` is two words where one value is due", hint)


def _anything(m: Mistake) -> Diagnostic:
    what = expected(m.accepts)
    here = m.at(0)
    if here is None:
        return m.report("P102", expected=what, hint="finish what the last line begins.")
    if here.kind == "mark" and here.text not in _MARKS:
        hint = "write texts in double quotes." if here.text in "'`" else "remove it."
        hint = f"write `{_SPELLED[here.text]}`." if here.text in _SPELLED else hint
        return m.report("P103", f"the language has no use for `{here.text}`", hint)
    where = f" in `{m.clause}`" if m.clause else ""
    hint = "write a contract, define, use or profile." if not m.item else ""
    return m.report("P101", f"`{_short(here.text)}` cannot stand here{where}", hint, expected=what)


def _short(text: str) -> str:
    line = text.split("\n")[0]
    return line if len(line) <= 40 and line == text else f"{line[:37]}..."


RULES: tuple[Callable[[Mistake], Diagnostic | None], ...] = (
    _string,
    _number,
    _bracket,
    _operator,
    _hyphen,
    _empty_clause,
    _of,
    _version,
    _level,
    _colon,
    _reserved,
    _define,
    _first_word,
    _spelling,
    _two_words,
)
"""In the order in which they are asked: what is certain first, what is guessed last."""


def explain(mistake: Mistake) -> Diagnostic:
    """The finding for a place where the grammar stopped."""
    for rule in RULES:
        if found := rule(mistake):
            return found
    return _anything(mistake)
