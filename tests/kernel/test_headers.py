"""Headers of the kernel include each other in no circle; a file offers what its own header says."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter

import pytest

from .test_kernel_programs import KERNEL

TEXTS = {
    path.relative_to(KERNEL).as_posix(): path.read_text(encoding="utf-8")
    for path in KERNEL.rglob("*.[ch]")
}
DEFINED = r"^\w[^\n;{}()]*?\b(ssk_\w+)\([^;{}]*\)\n\{"  # at the start of a line, not indented


def included(name: str) -> list[str]:
    return re.findall(r'^#include "(.+)"$', TEXTS[name], re.MULTILINE)


def test_headers_include_each_other_in_no_circle() -> None:
    headers = {name: included(name) for name in TEXTS if name.endswith(".h")}
    assert len(list(TopologicalSorter(headers).static_order())) == len(headers) > 30


@pytest.mark.parametrize("name", [name for name in TEXTS if name.endswith(".c")])
def test_a_file_offers_what_its_header_declares(name: str) -> None:
    own = name.removesuffix("c") + "h"
    assert included(name)[0] == own or own not in TEXTS
    declared = {
        word
        for header in (own, "ssk.h")
        for word in re.findall(r"\b(ssk_\w+)\(", TEXTS.get(header, ""))
    }
    defined = [
        found[1]
        for found in re.finditer(DEFINED, TEXTS[name], re.MULTILINE)
        if not found[0].startswith("static")
    ]
    assert defined
    assert set(defined) <= declared
