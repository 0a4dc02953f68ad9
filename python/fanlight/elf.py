"""What the file of a program or of a library says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

_PIE = 0x08000000  # in DT_FLAGS_1


@dataclass
class ElfFile:
    machine: str = ""
    soname: str = ""
    needed: list[str] = field(default_factory=list)
    interpreter: str = ""  # the dynamic linker that a program asks for
    # A program that is linked statically, into which nothing can be preloaded.
    static: bool = False


def read(path: Path) -> ElfFile | None:
    """None where it is no ELF file."""
    try:
        with open(path, "rb") as f:
            return _read(ELFFile(f)) if f.read(4) == b"\x7fELF" else None
    except (OSError, ELFError):
        return None


def _read(elf: ELFFile) -> ElfFile:
    about = ElfFile(elf.get_machine_arch())
    segments = {s["p_type"]: s for s in elf.iter_segments()}
    program = elf["e_type"] == "ET_EXEC"
    for tag in segments["PT_DYNAMIC"].iter_tags() if "PT_DYNAMIC" in segments else ():
        if tag.entry.d_tag == "DT_SONAME":
            about.soname = tag.soname
        elif tag.entry.d_tag == "DT_NEEDED":
            about.needed.append(tag.needed)
        elif tag.entry.d_tag == "DT_FLAGS_1":
            program = program or bool(tag["d_val"] & _PIE)
    if "PT_INTERP" in segments:
        about.interpreter = segments["PT_INTERP"].get_interp_name()
    about.static = program and "PT_INTERP" not in segments
    return about


def exports(path: Path, *names: str) -> set[str]:
    """Those of these functions and variables that a library has for others."""
    try:
        with open(path, "rb") as f:
            if f.read(4) != b"\x7fELF":
                return set()
            elf = ELFFile(f)
            table = elf.get_section_by_name(".gnu.hash") or elf.get_section_by_name(".hash")
            found = [(name, table.get_symbol(name)) for name in names] if table else []
            return {name for name, symbol in found if symbol and symbol["st_shndx"] != "SHN_UNDEF"}
    except (OSError, ELFError):
        return set()


def contains(path: Path, *names: str) -> set[str]:
    """Those of these functions that the linker has put into a program, as far as its symbols were left in it."""
    try:
        with open(path, "rb") as f:
            table = ELFFile(f).get_section_by_name(".symtab")
            defined = ((name, table.get_symbol_by_name(name) or []) for name in names) if table else ()
            return {name for name, symbols in defined if any(s["st_shndx"] != "SHN_UNDEF" for s in symbols)}
    except (OSError, ELFError):
        return set()
