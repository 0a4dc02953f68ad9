"""What MkDocs does besides (mkdocs.yml): README and its like are pages, the API reference is made, links to
files of the source lead to the repository, or are plain words where nobody has said where that is (repo_url)."""

from __future__ import annotations

import os
import posixpath
import re
import sys
from pathlib import Path

from mkdocs.structure.files import File

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

import reference  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
# Files beside docs/, by the page that they become.
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}


def on_files(files, config):
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    for page, text in reference.pages().items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri
    source = next((s for s, p in PAGES.items() if p == here), f"docs/{here}")
    folder = posixpath.dirname(source)

    def link(match):
        words, target = match[1], match[2]
        path, mark, heading = target.partition("#")
        if "://" in target or not path:
            return match[0]
        place = posixpath.normpath(posixpath.join(folder, path))
        inside = PAGES.get(place) or (place[len("docs/"):] if place.startswith("docs/") else "")
        if inside and (files.get_file_from_path(inside) or not (ROOT / place).exists()):
            return f"{words}({os.path.relpath(inside, posixpath.dirname(here) or '.')}{mark}{heading})"
        return f"{words}({config.repo_url.rstrip('/')}/blob/main/{place})" if config.repo_url else words.lstrip("!")[1:-1]

    # Not in code.
    parts = re.split(r"(^```.*?^```)", markdown, flags=re.M | re.S)
    return "".join(p if i % 2 else re.sub(r"(!?\[(?:[^\]`]|`[^`]*`)*\])\(([^)\s]+)\)", link, p) for i, p in enumerate(parts))
