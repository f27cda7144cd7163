"""Formulas of log-linear models in Wilkinson's notation: which terms a model of a table has.

    formula := item (("+" | "-") item)*     item   := power ((":" | "*") power)*
    power   := atom (("^" | "**") whole number)?
    atom    := column | `any column` | "." (all columns) | "1" | "(" formula ")"

`a:b` is an interaction, `a*b` is `a + b + a:b`, `(a + b + c)^2` means all terms of at most two of
its columns, and `- a:b` removes a term (Wilkinson and Rogers 1973). The intercept is always there:
`- 1` is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bayesdp.errors import InvalidInput, quoted

Term = tuple[str, ...]

_TOKEN = re.compile(r"\s*(?:(`[^`]+`|[^\W\d]\w*)|(\d+)|(\*\*|[-+:*^().]))")
_NOTATION = 'for example "age + sex + age:sex", "age*sex" or "(age + sex + job)^2"'


def terms_of(
    formula: str, columns: Sequence[str] | None = None, *, every: bool = True
) -> tuple[Term, ...]:
    """List the terms of a formula, without the intercept: lower orders first.

    Parameters
    ----------
    formula : str
    columns : sequence of str, optional
        The table's columns. Without them only the notation is checked, and "." stands for nothing.
    every : bool
        Whether each column must have a term.

    Raises
    ------
    InvalidInput
        If the formula isn't valid, with the position; or if it names another column, leaves one
        out, or has an interaction without its lower-order terms.
    """
    if not isinstance(formula, str):
        raise InvalidInput(f"formula is {quoted(formula)}; it must be a string, {_NOTATION}")
    parser = _Parser(formula, columns or ())
    terms = parser.sums()
    if parser.here < len(parser.tokens):
        raise parser.wrong("an operator")
    ordered = sorted((t for t in terms if t), key=len)
    if columns is not None:
        _check_terms(formula, ordered, columns, every)
    return tuple(_in_order(term, columns) for term in ordered)


def name_of_term(term: Term) -> str:
    """Write a term as in a formula: "age:sex"."""
    return ":".join(term)


def _in_order(term: frozenset[str], columns: Sequence[str] | None) -> Term:
    return tuple(sorted(term, key=list(columns).index if columns else None))


def _check_terms(
    formula: str, terms: list[frozenset[str]], columns: Sequence[str], every: bool
) -> None:
    named = frozenset[str]().union(*terms)
    if unknown := sorted(named - set(columns)):
        raise InvalidInput(
            f"formula has {', '.join(map(repr, unknown))}, but the table's columns are "
            f"{list(columns)}; names with other signs than letters, digits and _ go in `backticks`"
        )
    absent = [name for name in columns if frozenset([name]) not in terms]
    if every and absent:
        raise InvalidInput(
            f"formula is {quoted(formula)}, without the column{'s' if len(absent) > 1 else ''} "
            f"{', '.join(map(repr, absent))}, which would make all categories there equally "
            f'likely; add "+ {" + ".join(absent)}"'
        )
    for term in terms:
        for name in sorted(term):
            if (within := term - {name}) and within not in terms:
                raise InvalidInput(
                    f"formula has {quoted(name_of_term(_in_order(term, columns)))} without "
                    f"{quoted(name_of_term(_in_order(within, columns)))}; an interaction needs the "
                    "terms "
                    f'that are within it: write "{"*".join(_in_order(term, columns))}"'
                )


class _Parser:
    """Recursive-descent parser of formulas into ordered lists of terms, each a set of columns."""

    def __init__(self, formula: str, columns: Sequence[str]) -> None:
        self.formula, self.columns = formula, columns
        self.tokens: list[tuple[str, str, int]] = []
        self.here = 0
        at, end = 0, len(formula.rstrip())
        while at < end:
            match = _TOKEN.match(formula, at)
            if match is None:
                at += len(formula[at:]) - len(formula[at:].lstrip())
                raise self._error(f"{quoted(formula[at])} isn't a part of formulas", at)
            kind = ("name", "number", "sign")[(match.lastindex or 1) - 1]
            self.tokens.append(
                (kind, match[match.lastindex or 1], match.end() - len(match[0].lstrip()))
            )
            at = match.end()

    def sums(self) -> list[frozenset[str]]:
        terms = self.products()
        while self.peek() in ("+", "-"):
            _, sign, at = self.take()
            other = self.products()
            if sign == "+":
                terms = _merged(terms, other)
            elif frozenset() in other:
                raise self._error("the intercept is taken out, which the model always has", at)
            else:
                terms = [term for term in terms if term not in other]
        return terms

    def products(self) -> list[frozenset[str]]:
        terms = self.powers()
        while self.peek() in (":", "*"):
            sign, other = self.take()[1], self.powers()
            crossed = _crossed(terms, other)
            terms = crossed if sign == ":" else _merged(_merged(terms, other), crossed)
        return terms

    def powers(self) -> list[frozenset[str]]:
        base = self.atoms()
        if self.peek() not in ("^", "**"):
            return base
        self.take()
        if self.here == len(self.tokens) or self.tokens[self.here][0] != "number":
            raise self.wrong("a whole number")
        order, at = self.take()[1:]
        if not 1 <= int(order) <= 20:
            raise self._error(f"the power is {order}; it must be from 1 to 20", at)
        terms = base
        for _ in range(int(order) - 1):
            more = _merged(terms, _crossed(terms, base))
            if len(more) == len(terms):
                break
            terms = more
        return terms

    def atoms(self) -> list[frozenset[str]]:
        if self.here == len(self.tokens):
            raise self.wrong("a column")
        kind, text, at = self.take()
        if kind == "name":
            return [frozenset([text.strip("`")])]
        if text == "1":
            return [frozenset()]
        if text == ".":
            return [frozenset([name]) for name in self.columns]
        if text == "(":
            terms = self.sums()
            if self.peek() != ")":
                raise self.wrong("')'")
            self.take()
            return terms
        if kind == "number":
            raise self._error(f"{text} isn't a column; the model always has its intercept", at)
        self.here -= 1
        raise self.wrong("a column")

    def peek(self) -> str | None:
        at_sign = self.here < len(self.tokens) and self.tokens[self.here][0] == "sign"
        return self.tokens[self.here][1] if at_sign else None

    def take(self) -> tuple[str, str, int]:
        self.here += 1
        return self.tokens[self.here - 1]

    def wrong(self, expected: str) -> InvalidInput:
        """The error for a token that isn't what was expected."""
        if self.here == len(self.tokens):
            return self._error(f"it ends where {expected} should be", len(self.formula.rstrip()))
        _, text, at = self.tokens[self.here]
        return self._error(f"{quoted(text)} stands where {expected} should be", at)

    def _error(self, what: str, at: int) -> InvalidInput:
        return InvalidInput(
            f"formula is {quoted(self.formula)}, and at position {at + 1} {what}; write it as in "
            f"Wilkinson's notation, {_NOTATION}"
        )


def _merged(one: list[frozenset[str]], other: list[frozenset[str]]) -> list[frozenset[str]]:
    return list(dict.fromkeys([*one, *other]))


def _crossed(one: list[frozenset[str]], other: list[frozenset[str]]) -> list[frozenset[str]]:
    return list(dict.fromkeys(a | b for a in one for b in other))
