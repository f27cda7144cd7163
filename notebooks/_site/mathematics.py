"""Mathematics as MathML, made when the site is built, so that no page fetches a script for it."""

import html
import re

from latex2mathml.converter import convert

# As pymdownx.arithmatex leaves it.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*\\([(\[])(.*?)\\[)\]]\s*</\1>', re.DOTALL)
# Words stay words: letter by letter they would be a product.
WORD = re.compile(r"\\mathrm\{([A-Za-z]{2,})\}")


def rendered(page: str) -> str:
    """The page with its formulas drawn.

    Raises
    ------
    ValueError
        If a formula can't be read; the message shows it.
    """
    return FORMULA.sub(_drawn, page)


def _drawn(found: re.Match[str]) -> str:
    tag, opening, latex = found.groups()
    latex = WORD.sub(r"\\text{\1}", html.unescape(latex).strip())
    display = "block" if opening == "[" else "inline"
    try:
        mathml = convert(latex, display=display)
    except Exception as error:
        raise ValueError(f"can't read the formula {latex!r}: {error!r}") from error
    if r"\sim" in latex:
        mathml = mathml.replace("<mi>&#x0007E;</mi>", "<mo>&#x0223C;</mo>")
    if re.search(r"<m[io]>\\", mathml):
        raise ValueError(f"unknown command in the formula {latex!r}")
    mark = " data-display" if display == "block" else ""
    return f'<{tag} class="arithmatex"{mark}>{mathml}</{tag}>'
