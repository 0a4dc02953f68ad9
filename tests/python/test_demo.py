"""The demo's program and comparison, on a network of a few milliseconds."""

import subprocess
import sys

import numpy as np
import pytest

from environments import ROOT, environment_of
from fanlight import libraries
from fanlight.errors import FanlightError

SPIKES = ROOT / "apps" / "spikes"


def neuron_is_there(kind):
    if not list(environment_of(kind).glob("lib/python3*/site-packages/neuron")):
        pytest.skip(f"no NEURON in .venv/{kind}")


@pytest.mark.parametrize("kind,options", [("mpich", []), ("openmpi", []), ("mpich", ["--trace"])])
def test_compare(clean, kind, options):
    neuron_is_there(kind)
    try:
        libraries.preload_for(kind)
    except FanlightError as e:
        pytest.skip(e.problem)
    if not (ROOT / "build" / "exchange_timer.so").exists():
        pytest.skip("no build/exchange_timer.so: run make build")
    done = subprocess.run([sys.executable, SPIKES / "compare.py", "--mpi", kind, "--repeats", "1", "--duration", "60", *options],
                          capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "identical to the last bit" in done.stdout and done.stdout.count("ratio") == 2


def test_spikes_do_not_depend_on_the_number_of_ranks(fanlight, tmp_path):
    neuron_is_there("mpich")
    found = {}
    for ranks in (1, 2, 3):
        folder = tmp_path / str(ranks)
        folder.mkdir()
        fanlight("run", "--plain", "-n", ranks, environment_of("mpich") / "bin" / "python", SPIKES / "network.py",
                 "integrate-and-fire", "--duration", "100", "--output", folder,
                 env={"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1"})
        spikes = np.concatenate([np.load(folder / f"rank{r}.npz")["spikes"] for r in range(ranks)])
        found[ranks] = spikes[np.lexsort((spikes[:, 1], spikes[:, 0]))]
    assert len(found[1]) > 100
    assert found[1].tobytes() == found[2].tobytes() == found[3].tobytes()


def test_a_difference_is_a_failure(monkeypatch, tmp_path):
    """The comparison is no rubber stamp: one bit in one spike, and it fails."""
    monkeypatch.syspath_prepend(str(SPIKES))
    import compare

    spikes = np.array([[1.0, 3.0], [2.0, 4.0]])
    runs = compare.Runs()
    for second in (2.0, np.nextafter(2.0, 3)):
        spikes[1, 0] = second
        np.savez(tmp_path / "rank0.npz", spikes=spikes, seconds=1.0, exchanges=np.ones(3), ranks=1)
        if second == 2.0:
            runs.add(tmp_path, 1)
        else:
            with pytest.raises(SystemExit, match="differ"):
                runs.add(tmp_path, 1)
