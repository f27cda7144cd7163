"""Find the files that ship beside the package: Stan programs and ready-to-run analyses."""

from pathlib import Path
from typing import Literal

from bayesdp.errors import BayesDPError, quoted

_PACKAGE = Path(__file__).resolve().parent


def shipped(kind: Literal["stan", "models"]) -> Path:
    """Return the folder of the shipped files of one kind.

    An installed wheel has them inside the package (`bayesdp/_shipped`); an editable
    install reads them live from the checkout.

    Parameters
    ----------
    kind : {"stan", "models"}
        The kind of files.

    Raises
    ------
    BayesDPError
        If neither place has the folder: the installation is damaged.
    """
    installed = _PACKAGE / "_shipped" / kind
    if installed.is_dir():
        return installed
    checkout = _PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / kind).is_dir():
        return checkout / kind
    raise BayesDPError(
        f"the shipped folder {quoted(kind)} is neither at {installed} nor in a checkout at "
        f"{checkout}; reinstall with: pip install --force-reinstall bayesdp"
    )
