"""Mutated inputs of file readers: of bytes, of words and lines, of JSON trees and of tables.

An input is a dictionary of file names and contents; readers of one file have one entry. Every
choice comes from the generator that is passed in, so that a seed gives the same inputs again.
"""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

Files = dict[str, bytes]
WORD = re.compile(rb"[A-Za-z0-9_.+-]+")
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")

#: Numbers at which arithmetic of some width or kind ends, and what is none.
NUMBERS = (
    *(b"0", b"-0", b"1", b"-1", b"2", b"0.5", b"-0.0", b"1e-320", b"1e308", b"-1e308", b"1e309"),
    *(b"127", b"128", b"32768", b"2147483647", b"2147483648", b"-2147483649", b"4294967296"),
    *(b"9007199254740993", b"4611686018427387904", b"9223372036854775807"),
    *(b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616", b"1000000000"),
    *(
        b"1e18",
        b"1" * 41,
        b"9" * 400,
        b"9" * 5000,
        b"1e999999999",
        b"-1e999999999",
        b"1e-999999999",
    ),
    *(b"nan", b"inf", b"-inf", b"NaN", b"Infinity", b"-Infinity", b"1_0", b"0x1F", b"1,5", b"1 ms"),
)
#: Words that mean something to some format, or should mean nothing.
WORDS = (
    *(b"", b" ", b"\t", b"\r", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", "\u0663\u00b2".encode()),
    *(b"null", b"true", b"~", b"*a", b"&a", b"<<", b"!!python/object/apply:os.system", b"!x"),
    *(b"../../etc/passwd", b"/etc/passwd", b"file:///etc/passwd", b".", b"..", b"/", b"-"),
    *(b'"', b"'", b"\\", b"%", b"%s", b"{", b"}", b"[", b"]", b"{}", b"[]", b",", b":", b"#"),
    *(b"\xed\xa0\x80", b"\\ud800", b"x" * 300, b"[" * 60),
    *(b"&#0;", b"&x;", b"<!DOCTYPE g [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>", b"%YAML 1.1"),
)
#: Nested deeper than any reader follows; rare, since YAML takes half a second for one.
DEEP = (b"[" * 5000, b'{"a":' * 3000, b"- " * 200)
#: What a JSON tree or a cell of a table may become.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, 1e-320, float("nan"), float("inf")),
    *(2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**62, 2**63 - 1, 2**63, -(2**63) - 1, 2**64),
    *(10**9, 10**12, 10**40, 10**400, "", "0", "-1", "1e999", "nan", "x" * 300, "\ud800", "\x00"),
    *([], {}, [[]], [None], {"": None}, "../../etc/passwd", "/etc/passwd", "*", "1 GHz"),
)


def mutated(rng: Random, pool: list[Files], *, is_json: bool = False, trees: float = 0.6) -> Files:
    """Return an input made from one of a pool; a share of those that are JSON changes as trees."""
    files = dict(rng.choice(pool))
    if len(files) > 1 and rng.random() < 0.1:
        return _without_or_swapped(rng, files)
    name = rng.choice(sorted(files))
    data = files[name]
    if is_json and rng.random() < trees:
        try:
            files[name] = _json(rng, data)
            return files
        except (ValueError, RecursionError):
            pass  # one of the pool that is no JSON any more
    other = rng.choice(pool).get(name, data)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        data = rng.choice(_OF_BYTES)(rng, data, other)
    if rng.random() < 0.02:
        data = gzip.compress(data, 1, mtime=0)
        if rng.random() < 0.5:
            data = _bytes(rng, data, data)
    files[name] = data
    return files


def _without_or_swapped(rng: Random, files: Files) -> Files:
    """Return several files less one, or with two contents exchanged, or one of them empty."""
    names = sorted(files)
    one, two = rng.choice(names), rng.choice(names)
    how = rng.randrange(3)
    if how == 0:
        del files[one]
    elif how == 1:
        files[one], files[two] = files[two], files[one]
    else:
        files[one] = b""
    return files


def _span(rng: Random, data: bytes) -> tuple[int, int]:
    """Return a part of the data, mostly a short one."""
    begin = rng.randrange(len(data) + 1)
    return begin, min(len(data), begin + int(rng.paretovariate(0.7)))


def _bytes(rng: Random, data: bytes, other: bytes) -> bytes:
    """Change, insert or repeat bytes."""
    begin, end = _span(rng, data)
    how = rng.randrange(4)
    if how == 0:
        return data[:begin] + rng.randbytes(min(end - begin, 8)) + data[end:]
    if how == 1:
        return data[:begin] + rng.randbytes(rng.randrange(1, 5)) + data[begin:]
    if how == 2:
        return data[:end] + data[begin:end] * rng.randrange(1, 4) + data[end:]
    flipped = bytes([data[begin] ^ (1 << rng.randrange(8))]) if begin < len(data) else b""
    return data[:begin] + flipped + data[begin + 1 :]


def _cut(rng: Random, data: bytes, other: bytes) -> bytes:
    """Cut something out, or off."""
    begin, end = _span(rng, data)
    return data[:begin] if rng.random() < 0.5 else data[:begin] + data[end:]


def _lines(rng: Random, data: bytes, other: bytes) -> bytes:
    """Delete, repeat, exchange or shuffle lines, or take one from another input."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return other
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(5)
    if how == 0:
        del lines[one]
    elif how == 1:
        lines.insert(two, lines[one])
    elif how == 2:
        lines[one], lines[two] = lines[two], lines[one]
    elif how == 3:
        part = lines[min(one, two) : max(one, two) + 1]
        rng.shuffle(part)
        lines[min(one, two) : max(one, two) + 1] = part
    else:
        lines.insert(one, rng.choice(other.splitlines(keepends=True) or [b"\n"]))
    return b"".join(lines)


def _words(rng: Random, data: bytes, other: bytes) -> bytes:
    """Replace a word by one of the data, of another input or of `WORDS`, or remove it."""
    found = list(WORD.finditer(data))
    if not found:
        return data + rng.choice(WORDS)
    match = rng.choice(found)
    how = rng.randrange(4)
    if how == 0:
        new = rng.choice(found).group()
    elif how == 1:
        new = rng.choice(WORD.findall(other) or [b""])
    else:
        new = rng.choice(WORDS if rng.random() < 0.97 else DEEP)
    return data[: match.start()] + new + data[match.end() :]


def _numbers(rng: Random, data: bytes, other: bytes) -> bytes:
    """Replace a number by one of `NUMBERS`, or by one nearby."""
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    match = rng.choice(found)
    new = rng.choice(NUMBERS)
    if rng.random() < 0.3 and match.group().isdigit() and len(match.group()) < 18:
        new = str(int(match.group()) + rng.choice((-2, -1, 1, 2, 10))).encode()
    return data[: match.start()] + new + data[match.end() :]


_OF_BYTES: tuple[Callable[[Random, bytes, bytes], bytes], ...] = (
    *(_bytes, _cut, _lines, _lines, _words, _words, _numbers, _numbers, _numbers),
)


def _json(rng: Random, data: bytes) -> bytes:
    """Change a JSON document at one to three places."""
    tree = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        tree = changed(rng, tree)
    return json.dumps(tree).encode("utf-8", "surrogatepass")


def changed(rng: Random, tree: Any) -> Any:
    """Return plain data with one place changed: replaced, removed, repeated or renamed."""
    places: list[tuple[Any, Any]] = []
    _collect(tree, places)
    if not places:
        return rng.choice(VALUES)
    parent, key = rng.choice(places)
    how = rng.randrange(6)
    if how == 0:
        del parent[key]
    elif how == 1:
        other, at = rng.choice(places)
        if at in other if isinstance(other, dict) else at < len(other):
            parent[key] = json.loads(json.dumps(other[at]))
    elif how == 2 and isinstance(parent, list):
        parent.insert(rng.randrange(len(parent) + 1), json.loads(json.dumps(parent[key])))
    elif how == 2:
        parent[str(rng.choice(places)[1])] = parent.pop(key)
    else:
        parent[key] = rng.choice(VALUES)
    return tree


def _collect(tree: Any, places: list[tuple[Any, Any]]) -> None:
    """List all places of plain data."""
    if isinstance(tree, dict | list):
        keys = list(tree) if isinstance(tree, dict) else range(len(tree))
        for key in keys:
            places.append((tree, key))
            _collect(tree[key], places)


def packed_arrays(rng: Random, data: bytes) -> bytes:
    """Change a NumPy archive: values, types, shapes, headers or members."""
    import numpy as np

    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(sorted(arrays))
        how = rng.randrange(6)
        array = arrays[name]
        if how == 0 and len(arrays) > 1:
            del arrays[name]
        elif how == 1:
            arrays[name] = array[: rng.randrange(array.shape[0] + 1)] if array.ndim else array
        elif how == 2:
            with np.errstate(all="ignore"):
                dtype = rng.choice(("int8", "float64", "int64", "bool", "U3", "complex64"))
                try:
                    arrays[name] = array.astype(dtype)
                except (ValueError, TypeError):
                    arrays[name] = np.zeros(array.shape, dtype)
        elif how == 3:
            arrays[name] = np.array(array[None] if array.ndim else [array, array])
        elif array.size and array.dtype.kind in "iufb":
            array = array.copy()
            with np.errstate(all="ignore"):
                value = rng.choice((-1, 0, 1, 2, 7, 2**31 - 1, -(2**31), np.nan, np.inf))
                if array.dtype.kind == "f" or (value == value and abs(value) < 2**40):
                    array.flat[rng.randrange(array.size)] = np.array(value).astype(array.dtype)
            arrays[name] = array
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    result = buffer.getvalue()
    return _bytes(rng, result, result) if rng.random() < 0.1 else result
