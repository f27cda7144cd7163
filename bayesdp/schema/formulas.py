"""Columns of a table that a formula relates, as a curator plans and an analyst fits it."""

from __future__ import annotations

import ast
import keyword
import tokenize
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import combinations_with_replacement
from typing import Any

from bayesdp.errors import InvalidInput, quoted

_CONTRASTS = {"Treatment", "Sum", "Poly", "Diff", "Helmert"}
"""Names that a formula may have without a bracket after them."""


def columns_of(formula: str, known: Sequence[str], *, name: str = "formula") -> list[str]:
    """Find the table's columns in a formula, in its order.

    Parameters
    ----------
    formula : str
        In statsmodels' notation: "income ~ age + C(sex) + Q('years at school')".
    known : sequence of str
        The table's columns.
    name : str
        Name of the argument, for the message.

    Raises
    ------
    InvalidInput
        If it isn't a formula with an outcome, or names anything but these columns.
    """
    if not isinstance(formula, str) or formula.count("~") != 1:
        raise InvalidInput(
            f"{name} is {quoted(formula)}; write it as 'outcome ~ predictor + C(predictor)'"
        )
    outcome, predictors = ([*_named(side, known)] for side in formula.split("~"))
    found = [*dict.fromkeys(outcome + predictors)]
    if not outcome or not set(found) <= set(known):
        raise InvalidInput(
            f"{name} is {quoted(formula)}; its outcome and predictors must be of the columns "
            f"{', '.join(known)}: a name that isn't Python's is written Q('name')"
        )
    return found


def outcome_of(formula: str) -> str | None:
    """Return the name that is a formula's outcome, plain or in Q(); None for a function of some."""
    try:
        side = ast.parse(formula.split("~")[0].strip(), mode="eval").body
    except SyntaxError:
        return None
    match side:
        case ast.Name(name) | ast.Call(ast.Name("Q"), [ast.Constant(str(name))], []):
            return name
    return None


def columns_of_term(term: Any, known: Sequence[str]) -> set[str]:
    """Return the table's columns in one of patsy's terms."""
    named = (name for factor in term.factors for name in _named(factor.code, known))
    return {name for name in named if name in known}


def columns_and_sums(
    formula: str, known: Sequence[str], *, name: str = "formula"
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Find a formula's columns, and those of each sum over records that its least squares takes.

    The sums are of products of any two terms. A product is a function of the columns of both, so
    that its sum is one over the cells of their marginal. With terms of one column each, these are
    pairs of columns; with an interaction of two, it and the outcome are three.

    Parameters
    ----------
    formula, known, name
        As for `columns_of`.

    Returns
    -------
    columns : list of str
        As `columns_of` finds them.
    sums : list of tuple of str
        Columns in the table's order, without sums of no column.

    Raises
    ------
    InvalidInput
        If it isn't a formula, or names anything but these columns.
    """
    import patsy

    columns = columns_of(formula, known, name=name)
    try:
        read = patsy.ModelDesc.from_formula(formula)
    except patsy.PatsyError as error:
        raise InvalidInput(
            f"{name} is {quoted(formula)}, which statsmodels can't read ({error.message}); write "
            "it as 'outcome ~ predictor + C(predictor)'"
        ) from error
    owners = {
        frozenset(columns_of_term(term, known)) for term in read.lhs_termlist + read.rhs_termlist
    }
    found = {one | other for one, other in combinations_with_replacement(owners, 2)}
    place = {column: k for k, column in enumerate(known)}
    made = [tuple(sorted(each, key=place.__getitem__)) for each in found if each]
    return columns, sorted(made, key=lambda each: (len(each), [place[name] for name in each]))


def _named(side: str, known: Sequence[str]) -> Iterator[str]:
    """Yield the variables in one side of a formula: no functions, their options, or texts."""
    try:
        tokens = list(tokenize.generate_tokens(StringIO(side.strip()).readline))
    except (tokenize.TokenError, SyntaxError):
        yield side  # which is no column's name
        return
    texts = [token.string for token in tokens]
    for k, token in enumerate(tokens):
        after = texts[k + 1] if k + 1 < len(texts) else ""
        if token.type == tokenize.STRING and texts[max(k - 2, 0) : k] == ["Q", "("]:
            yield str(ast.literal_eval(token.string))
        elif token.type != tokenize.NAME or texts[k - 1 : k] == ["."] or after == "=":
            continue
        elif token.string in known and after != "(":
            yield token.string
        elif after not in ("(", ".") and not keyword.iskeyword(token.string):
            yield from {token.string} - _CONTRASTS
