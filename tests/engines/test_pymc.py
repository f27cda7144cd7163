"""PyMC's engine: what it asks of nutpie, and what is left when it is stopped."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

from bayesdp.engines.pymc import sampling as pymc


class Interrupted:
    """A sampler during which Ctrl-C is pressed."""

    cancelled = False

    def wait(self) -> None:
        raise KeyboardInterrupt

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What nutpie is asked for; its sampler is then interrupted."""
    pymc.import_pymc()
    import nutpie

    options: dict[str, Any] = {}

    def sample(model: Any, **given: Any) -> Interrupted:
        options.update(given, sampler=Interrupted())
        return options["sampler"]  # type: ignore[no-any-return]

    monkeypatch.setattr(nutpie, "compile_pymc_model", lambda *_, **__: None)
    monkeypatch.setattr(nutpie, "sample", sample)
    return options


@pytest.mark.parametrize(("seed", "given"), [(None, None), (0, 0), (2**64 - 1, 2**64 - 1)])
def test_an_interrupt_is_no_wish_for_fewer_draws(
    asked: dict[str, Any], seed: int | None, given: int | None
) -> None:
    """nutpie itself would return those that there are: a chain's last isn't the posterior's."""
    with pytest.raises(KeyboardInterrupt):
        pymc.sample(None, variables=["x"], draws=10, seed=seed)  # type: ignore[arg-type]
    assert asked["sampler"].cancelled
    assert asked["blocking"] is False
    assert asked["seed"] == given


def test_a_seed_may_be_longer_than_nutpie_s(asked: dict[str, Any]) -> None:
    found = set()
    for seed in (2**64, 2**64 + 1):
        with pytest.raises(KeyboardInterrupt):
            pymc.sample(None, variables=["x"], draws=10, seed=seed)  # type: ignore[arg-type]
        found.add(asked["seed"])
    assert len(found) == 2
    assert all(0 <= seed < 2**64 for seed in found)


@pytest.mark.slow
def test_a_fit_leaves_no_source_in_the_folder_of_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTensor's own way is a file for each function that it compiles."""
    pm = pymc.import_pymc()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pm.Model() as model:
        pm.Normal("x")
    found = pymc.sample(model, variables=["x"], draws=5, warmup=5, chains=2, seed=1)
    assert found.posterior["x"].shape == (2, 5)
    assert list(tmp_path.iterdir()) == []
