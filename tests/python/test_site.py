"""`make docs`: the site is built without a warning, and has in it what it should."""

import os
import re
import subprocess

import pytest

from environments import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run([ROOT / ".venv/docs/bin/mkdocs", "build", "--strict", "--quiet", "-d", folder], cwd=ROOT,
                          capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    return folder


def test_every_link_leads_somewhere(site):
    for page in site.rglob("*.html"):
        if page.name == "404.html":
            continue  # its links are from the root of a server
        for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text()):
            assert "://" in target or target.startswith(("data:", "mailto:")) or (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page, words", [
    ("index.html", ["speedups.svg", "allreduce-by-levels.svg", "A first result"]),
    ("reference/collectives.html", ["fanlight_allreduce", "fanlight_ibcast", "fanlight_alltoallw_init", "all ranks get the result, with the same bits"]),
    ("reference/global.html", ["fanlight_put_notify", "FANLIGHT_ERR_RANGE"]),
    ("reference/dart.html", ["dart_allreduce", "dart_team_memalloc_aligned"]),
    ("reference/cpp.html", ["PersistentRequest", "set_algorithm"]),
    ("reference/fortran.html", ["call fanlight_iallreduce(", "call fanlight_prepare("]),
    ("reference/python.html", ["allgatherv_any", "global_array", "put_notify", "Schedule"]),
], ids=lambda x: x if isinstance(x, str) else "")
def test_page(site, page, words):
    text = re.sub(r"<[^>]+>", "", (site / page).read_text()) + (site / page).read_text()
    assert not [w for w in words if w not in text]


def test_every_function_is_in_the_reference(site):
    """What a header declares has a place in its page."""
    for header, page in (("collectives.h", "collectives"), ("global.h", "global"), ("dart.h", "dart")):
        text = re.sub(r"<[^>]+>", "", (site / f"reference/{page}.html").read_text())
        code = re.sub(r"//.*|/\*.*?\*/", "", (ROOT / "include/fanlight" / header).read_text(), flags=re.S if header == "dart.h" else 0)
        declared = set(re.findall(r"\b((?:fanlight|dart)_\w+)\(", code)) - {"fanlight_dart_unit"}
        assert len(declared) > 30 and not [name for name in declared if name not in text]
