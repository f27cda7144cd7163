"""Several releases of the same confidential records, used as one observation.

Given the records' statistic, releases are independent, so their laws multiply.
"""

from __future__ import annotations

from collections.abc import Sequence

from bayesdp.errors import InvalidInput, quoted
from bayesdp.release import Part, Release

Releases = Release | Sequence[Release]


def all_releases(given: Releases) -> tuple[Release, ...]:
    """Return one release or several, as several, whatever their groups.

    Raises
    ------
    InvalidInput
        If there is none, or one isn't a Release.
    """
    releases = tuple(given) if isinstance(given, Sequence) else (given,)
    if not releases or not all(isinstance(each, Release) for each in releases):
        raise InvalidInput(
            f"release is a {type(given).__name__}; it must be a bdp.Release, or a list of releases "
            "of the same records"
        )
    return releases


def releases_of(given: Releases) -> tuple[Release, ...]:
    """Return one release or several of the same groups, as several.

    Raises
    ------
    InvalidInput
        If there is none, one isn't a Release, or they have different groups.
    """
    releases = all_releases(given)
    for other in releases[1:]:
        if (other.by is None) != (releases[0].by is None) or other.groups != releases[0].groups:
            raise InvalidInput(
                f"the releases have the groups {list(releases[0].groups)} and "
                f"{list(other.groups)}; several at once must be of the same records, in the same "
                "groups and order"
            )
    return releases


def parts_of(given: Releases) -> list[tuple[Part, ...]]:
    """Return each group's parts, one for each release.

    Parameters
    ----------
    given : Release, or several in a list
        Several releases must be of the same records, in the same groups.
    """
    return list(zip(*(release.parts for release in releases_of(given)), strict=True))


def parts_alone(given: Releases) -> tuple[Part, ...]:
    """Return the parts of releases without groups, one for each release.

    Raises
    ------
    InvalidInput
        If they have groups.
    """
    for each in releases_of(given):
        _ = each.mechanism  # which refuses groups
    return parts_of(given)[0]


def agreed_size(parts: Sequence[Part], n: int | None) -> int | None:
    """Return the number of records as the releases or the analyst give it; None if neither does.

    Raises
    ------
    InvalidInput
        If any of them differ.
    """
    public = {part.mechanism.n for part in parts if part.mechanism.n is not None}
    if len(public) > 1:
        raise InvalidInput(
            f"the releases say n = {' and n = '.join(map(str, sorted(public)))}; several at once "
            "must be of the same records"
        )
    if n is not None and not public <= {n}:
        raise InvalidInput(
            f"the model has n = {n}, but the release says n = {public.pop()}; leave n out of the "
            "model"
        )
    return public.pop() if public else n


def only_one(given: Releases, engine: str) -> Release:
    """Return the release, for an engine that takes one.

    Raises
    ------
    InvalidInput
        If there are several.
    """
    releases = releases_of(given)
    if len(releases) > 1:
        raise InvalidInput(
            f"engine is {quoted(engine)}, which takes one release at a time, and there are "
            f"{len(releases)}; fit one of them, or take an engine of the model for several, if it "
            "has one, or bdp.observe in a PyMC model"
        )
    return releases[0]


def one_group(release: Release, otherwise: str = "use fit()") -> Release:
    """Return the release, or raise InvalidInput if it has groups: `otherwise` takes them all."""
    if len(release.parts) > 1:
        raise InvalidInput(
            f"this release has {len(release.parts)} groups; take one, for example "
            f"release[{quoted(release.groups[0])}] or `--group`, or {otherwise}, which takes all"
        )
    return release
