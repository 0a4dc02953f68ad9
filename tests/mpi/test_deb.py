"""Debian packages, by Debian's own tools, in an empty Debian."""

import subprocess

import pytest

from running import ROOT


@pytest.mark.long
def test_packages(tmp_path, fanlight_only):
    """They are built and installed, lintian finds no error in them, a program of each of Debian's MPIs is served."""
    done = subprocess.run([ROOT / "packaging/deb", tmp_path], capture_output=True, text=True, timeout=3600)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert {p.name.split("_")[0] for p in tmp_path.glob("*.deb")} >= {"fanlight", "libfanlight-dev"}
