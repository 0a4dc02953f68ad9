"""The API reference: pages made from the comments and declarations of what programs include.

A comment belongs to the declarations that follow it without a blank line between.
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include/fanlight"
PYTHON = ROOT / "python/fanlight"


# ---- C and C++ ------------------------------------------------------------------------------

def _joined(comment: list[str]) -> str:
    """What stands further in than the rest is code."""
    text = "\n".join(comment).strip("\n") + "\n"
    return re.sub(r"^(?:  +\S.*\n|\n(?=  ))+", lambda m: "\n```text\n" + textwrap.dedent(m[0]).strip("\n") + "\n```\n\n", text, flags=re.M).rstrip("\n")


def _lines(text: str) -> list[tuple[str, str]]:
    """Each line with the words of the comment that it is, if it is one; without what the preprocessor needs."""
    found, in_comment = [], False
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", text, flags=re.M | re.S)
    text = re.sub(r"^namespace detail \{\n.*?^\}  // namespace detail\n", "", text, flags=re.M | re.S)
    text = re.sub(r"^#define FANLIGHT_DATATYPE.*?^#undef FANLIGHT_DATATYPE\n", "", text, flags=re.M | re.S)
    text = re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*\n", lambda m: m[0] if _is_constant(m[0]) else "", text, flags=re.M)
    for line in text.splitlines():
        stripped = line.strip()
        if in_comment or stripped.startswith("/*"):
            in_comment = "*/" not in line
            words = re.sub(r"^\s*(/\*|\*/|\*)? ?", "", line)
            found.append((words.replace("*/", "").rstrip() or "\n", line))
        elif stripped.startswith("//"):
            found.append((stripped[2:].removeprefix(" ") or "\n", line))
        else:
            found.append(("", line))
    return found


def _is_constant(directive: str) -> bool:
    return bool(re.match(r"#define \w+ \S", directive)) and not re.search(r"\\\n|__\w+__|static inline", directive)


def _complete(code: str) -> bool:
    if code.lstrip().startswith("#"):
        return True
    bare = re.sub(r'//.*|/\*.*?\*/|"[^"\n]*"', "", code).rstrip()
    return all(bare.count(a) == bare.count(b) for a, b in ("()", "{}")) and bare.endswith((";", "}"))


def _items(text: str):
    """(section, comment, declarations) one after the other; the head of the file first, without declarations."""
    comment: list[str] = []
    group: list[str] = []
    code = section = ""
    groups = []

    def flush():
        nonlocal comment, group
        if comment or group:
            groups.append((section, _joined(comment), group))
        comment, group = [], []

    for words, line in _lines(text):
        if code and line.strip():
            code += line + "\n"
            if _complete(code):
                group.append(code)
                code = ""
        elif title := re.match(r"-{3,4} (.*?) -{3,}", words):
            flush()
            section = title[1]
        elif words:
            if group:
                flush()
            comment.append(words if words != "\n" else "")
        elif not line.strip() and not code:
            flush()
        elif re.match(r"(namespace \w+ \{|\}  // namespace|extern )", line):
            continue
        elif line.strip() and _complete(line):
            group.append(line + "\n")
        elif line.strip():
            code = line + "\n"
    flush()
    return groups


def _declaration(code: str) -> str:
    """Without the body of a function, and what only the compiler needs."""
    code = re.sub(r"\b(FANLIGHT_API|DART_EXPORT|DART_INLINE|DART_NOTHROW|static inline|\[\[nodiscard\]\]) ?|__attribute__\(\(.*?\)\) ?", "", code)
    code = re.sub(r" +;", ";", code)
    indent = re.match(r" *", code)[0]
    code = re.sub(rf"^{indent}", "", code, flags=re.M)
    if re.match(r"(typedef|enum|struct|union|#|template <[^>]*>\s*(struct|concept))", code):
        return code.rstrip()
    before_body = re.split(r"\) : ", code.partition("{")[0])
    return (before_body[0].rstrip() + (");" if len(before_body) > 1 else ";") if "{" in code and "(" in before_body[0] else code).rstrip()


def _names(declarations: list[str]) -> str:
    """What is declared, for a heading: of a type its own name, else what stands before the bracket."""
    names = []
    for d in declarations:
        bare = re.sub(r"/\*.*?\*/|//[^\n]*|template <[^>]*>\s*(requires\(.*?\)\n)?", "", d, flags=re.S)
        found = (re.match(r"#define (\w+)", bare) or re.match(r"typedef .*?\}\s*(\w+);", bare, re.S) or re.match(r"typedef .*?\(\*(\w+)\)", bare, re.S)
                 or re.match(r"typedef [^{;]*?(\w+);", bare) or re.search(r"\b(?:concept|struct|class|enum) (\w+)", bare) or re.search(r"([~\w]+)\s*\(", bare))
        if found:
            names.append(found[1])
    return ", ".join(f"`{n}`" for n in dict.fromkeys(names))


def _group(comment: str, declarations: list[str], language: str, level: str) -> list[str]:
    shown = [_declaration(d) for d in declarations]
    names = _names(shown)
    title = names if names.count("`") <= 8 else names.split(", ")[0] + " …"
    return [*([f"{level} {title}\n"] if names else []), *([comment + "\n"] if comment else []), f"```{language}", *shown, "```\n"]


def header(file: str, title: str, language: str = "c") -> str:
    text = (INCLUDE / file).read_text()
    out = [f"# {title}\n", f"`#include <fanlight/{file}>`\n"]
    before = ""
    for section, comment, declarations in _items(text):
        if section != before:
            out.append(f"## {section[0].upper()}{section[1:]}\n")
            before = section
        classes = [d for d in declarations if language == "c++" and re.match(r"(template <.*\n)?class ", d)]
        for d in classes:
            name = re.search(r"^class (?:\[\[nodiscard\]\] )?(\w+)", d, re.M)[1]
            out += [f"### `{name}`\n", *([comment + "\n"] if comment else [])]
            public = re.split(r"^(?:private|protected):\n", d.partition("public:\n")[2], flags=re.M)[0]
            for _, words, members in _items(public):
                # Not what every class has.
                if members := [m for m in members if "operator=" not in m and "~" not in m and " other)" not in m and "= default" not in m]:
                    out += _group(words, members, language, "####")
        if rest := [d for d in declarations if d not in classes]:
            out += _group(comment, rest, language, "###")
        elif comment and not classes:
            out.append(comment + "\n")
    return "\n".join(out)


# ---- Fortran --------------------------------------------------------------------------------

def fortran() -> str:
    text = (INCLUDE / "fanlight.f90").read_text()
    head = "\n".join(line[2:] for line in text[:text.index("\nmodule ")].splitlines())
    out = ["# Fortran\n", head + "\n", "What each operation does: [the reference for C](collectives.md), which has the same names. `ierror` is optional.\n"]
    kinds: dict[str, list[str]] = {"Fanlight's own": [], "Blocking": [], "Non-blocking": [], "Persistent": []}
    for name, arguments in re.findall(r"^ +subroutine (fanlight_\w+)\(([^)]*)\)", text, re.M):
        if name.endswith("_of"):
            continue
        arguments = ", ".join(a.strip(" &\n") for a in arguments.split(","))
        kind = ("Persistent" if name.endswith("_init") else "Non-blocking" if "request" in arguments else
                "Blocking" if re.search(r"(sendbuf|buffer|_barrier)", name + arguments) else "Fanlight's own")
        kinds[kind].append(f"call {name}({arguments})")
    for kind, calls in kinds.items():
        out += [f"## {kind}\n", "```fortran", *calls, "```\n"]
    return "\n".join(out)


# ---- Python ---------------------------------------------------------------------------------

def _defined(node: ast.stmt, level: str) -> list[str]:
    words = ast.get_docstring(node)
    if isinstance(node, ast.ClassDef):
        out = [f"{level} `{node.name}`\n", (words or "") + "\n"]
        for part in node.body:
            if isinstance(part, ast.FunctionDef) and not part.name.startswith("_") and ast.get_docstring(part):
                out += _defined(part, level + "#")
        return out
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    arguments = re.sub(r"\bself(, )?", "", ast.unparse(node.args))
    examples = re.sub(r"((?:^>>> .*\n?)+)", lambda m: "```python\n" + re.sub("^>>> ", "", m[1], flags=re.M).rstrip("\n") + "\n```\n", words or "", flags=re.M)
    return [f"{level} `{node.name}`\n", "```python", f"{node.name}({arguments}){returns}", "```\n", examples + "\n"]


def python() -> str:
    out = ["# Python\n", "[Python](../python.md) shows them at work; `help(fanlight.allreduce)` and so on print the same.\n"]
    parts = {"collectives": "Collectives, beside mpi4py", "shared": "One array for each node", "distributed": "Distributed arrays",
             "own_algorithms": "Algorithms", "builder": "Schedules"}
    names = set(re.findall(r'"(\w+)"', re.sub(r"_core_names.*?\}\)", "", (PYTHON / "__init__.py").read_text(), flags=re.S)))
    names |= {"shared_array", "global_array", "GlobalArray", "SharedArray", "Schedule"}
    for file, title in parts.items():
        tree = ast.parse((PYTHON / f"{file}.py").read_text())
        out += [f"## {title}\n", (ast.get_docstring(tree) or "") + "\n"]
        for node in tree.body:
            public = isinstance(node, ast.FunctionDef) and node.name in names or isinstance(node, ast.ClassDef) and not node.name.startswith("_")
            if public and ast.get_docstring(node):
                out += _defined(node, "###")
    return "\n".join(out)


def pages() -> dict[str, str]:
    """By their place in the site."""
    return {
        "reference/collectives.md": header("collectives.h", "Collectives, for C"),
        "reference/allgatherv_any.md": header("allgatherv_any.h", "An allgather without counts, for C"),
        "reference/global.md": header("global.h", "Global memory, for C"),
        "reference/dart.md": header("dart.h", "DART, for C"),
        "reference/dart_locality.md": header("dart_locality.h", "DART's locality, for C"),
        "reference/cpp.md": header("fanlight.hpp", "C++20", "c++"),
        "reference/fortran.md": fortran(),
        "reference/python.md": python(),
    }
