"""Mutants of our own binary files: another body or other contents, under a right length and digest."""

from __future__ import annotations

import copy
import hashlib
import json
import struct

import numpy as np

HEAD, SIZE, VERSION = struct.Struct("<8sI4sQ"), 64, 1  # of the envelope (docs/files.md)
DTYPES = {"F64": np.float64, "F32": np.float32, "I64": np.int64, "I32": np.int32, "BOOL": np.bool_}
WHOLE = [
    0,
    1,
    -1,
    2,
    3,
    5,
    7,
    12,
    48,
    100,
    1000,
    10**6,
    2**31 - 1,
    2**31,
    2**40,
    2**53,
    2**62,
    2**63 - 1,
    2**70,
]
DECIMAL = [0.0, -0.0, 0.5, -0.5, 1.5, 1e-300, 1e-12, 1e6, 1e30, 1e90, 1e154, 1e200, 1e308, -1e308]
ODD = [None, True, False, "", "x", "auto", "unit", [], {}, [[]], {"array": "no"}, {"float": "inf"}]
FLOATS = [*DECIMAL, np.nan, np.inf, -np.inf]
NAMES = {np.dtype(kind): name for name, kind in DTYPES.items()}


def sealed(body, kind=b"modl"):
    """A body in a right envelope."""
    head = HEAD.pack(b"viewpass", VERSION, kind, len(body))
    digest = hashlib.sha256(head + body).digest()
    return (head + digest).ljust(SIZE, b"\0") + body


def opened(content):
    """Metadata and arrays of a file that is known to be sound."""
    body = content[SIZE:]
    length = int.from_bytes(body[:8], "little")
    header = json.loads(body[8 : 8 + length])
    meta = json.loads(header.pop("__metadata__")["viewpass"])
    arrays = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        data = body[8 + length + first : 8 + length + last]
        arrays[name] = np.frombuffer(data, DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return meta, arrays


def closed(meta, arrays):
    """A body, whatever it says; arrays lie in the order in which numpy can read them."""
    header, data = {"__metadata__": {"viewpass": json.dumps(meta)}}, b""
    for name, array in sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])):
        content = array.tobytes()
        span = [len(data), len(data) + len(content)]
        header[name] = {"dtype": NAMES[array.dtype], "shape": list(array.shape), "data_offsets": span}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def mutant(mine, other, random, kind=b"modl"):
    """A file changed in one way or several, in part to what another one has, and sealed again."""
    if random.random() < 0.15:
        return sealed(changed_bytes(mine[SIZE:], other[SIZE:], random), kind)
    meta, arrays = opened(mine)
    meta, donor = copy.deepcopy(meta), opened(other)
    for _ in range(1 + random.poisson(0.8)):
        if meta and arrays:
            chosen(random, CHANGES)(meta, arrays, donor, random)
    return sealed(closed(meta, arrays), kind)


def changed_bytes(mine, other, random):
    content = bytearray(mine)
    at = int(random.integers(len(content)))
    size = int(random.integers(1, 65))
    match random.integers(6):
        case 0:
            content[at] ^= 1 << int(random.integers(8))
        case 1:
            for place in random.integers(len(content), size=random.integers(2, 9)):
                content[place] = int(random.integers(256))
        case 2:
            content[at:at] = random.bytes(size)
        case 3:
            del content[at : at + size]
        case 4:
            content[at : at + 3 * size] = other[at : at + 3 * size]
        case 5:  # one number of an array, or of the text
            content[at - at % 8 : at - at % 8 + 8] = random.bytes(8)
    return bytes(content)


# ---- changes of the metadata


def places(value, holder=None, key=None):
    """Every value, as the mapping or list that holds it and its key."""
    found = [] if holder is None else [(holder, key)]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for inner, part in items:
        found += places(part, value, inner)
    return found


def chosen(random, values):
    return values[int(random.integers(len(values)))]


def odd_value(random, old):
    pick = random.random()
    if isinstance(old, bool) and pick < 0.6:
        return not old
    if isinstance(old, int) and pick < 0.75:
        return chosen(random, [old + 1, old - 1, old + 1, old * 2, *WHOLE])
    if isinstance(old, float) and pick < 0.75:
        return chosen(random, [old * 2, -old, *DECIMAL])
    return copy.deepcopy(chosen(random, [*WHOLE, *DECIMAL, *ODD]))


def change_value(meta, arrays, donor, random):
    holder, key = chosen(random, places(meta))
    holder[key] = odd_value(random, holder[key])


def change_everywhere(meta, arrays, donor, random):
    """A value changes wherever a field of that name has it, so that they agree."""
    holder, key = chosen(random, places(meta))
    old, new = holder[key], odd_value(random, holder[key])
    for inner, name in places(meta):
        if isinstance(inner, dict) and name == key and inner[name] == old:
            inner[name] = copy.deepcopy(new)


def take_value(meta, arrays, donor, random):
    """A value of another file, from the same place where there is one."""
    theirs = places(donor[0])
    holder, key = chosen(random, places(meta))
    alike = [(inner, name) for inner, name in theirs if name == key] or theirs
    inner, name = chosen(random, alike)
    holder[key] = copy.deepcopy(inner[name])


def move_value(meta, arrays, donor, random):
    there = places(meta)
    (holder, key), (inner, name) = chosen(random, there), chosen(random, there)
    holder[key] = copy.deepcopy(inner[name])


def drop_value(meta, arrays, donor, random):
    holder, key = chosen(random, places(meta))
    del holder[key]


def change_text(meta, arrays, donor, random):
    texts = [(holder, key) for holder, key in places(meta) if isinstance(holder[key], str)]
    words = [inner[name] for inner, name in places(donor[0]) if isinstance(inner[name], str)]
    if texts:
        holder, key = chosen(random, texts)
        holder[key] = chosen(random, [*words, holder[key] + "x", "\x1b[31m", "a" * 1000, "\ud800"])


# ---- changes of the arrays


def change_numbers(meta, arrays, donor, random):
    name = chosen(random, sorted(arrays))
    array = arrays[name].copy()
    if not array.size:
        return
    n = int(random.choice([1, 1, 2, array.size]))
    at = random.integers(array.size, size=n)
    flat = array.reshape(-1)
    if array.dtype.kind == "f":
        values = random.choice([*FLOATS, float(flat[at[0]]) * 2, -float(flat[at[0]])], size=n)
    elif array.dtype.kind == "i":
        most = np.iinfo(array.dtype).max
        near = [int(flat[at[0]]) + 1, int(flat[at[0]]) - 1]
        all = [max(min(value, most), -most - 1) for value in [*WHOLE, *near, -most - 1]]
        values = random.choice(np.array(all, dtype=np.int64), size=n)
    else:
        values = random.random(n) < 0.5
    with np.errstate(all="ignore"):
        flat[at] = values.astype(array.dtype)
    arrays[name] = array


def scale_numbers(meta, arrays, donor, random):
    name = chosen(random, sorted(arrays))
    with np.errstate(all="ignore"):
        factor = chosen(random, [0, -1, 2, 1000, 1e15, 1e60, 1e89, 1e160, 1e-160])
        arrays[name] = (arrays[name] * factor).astype(arrays[name].dtype)


def change_shape(meta, arrays, donor, random):
    name = chosen(random, sorted(arrays))
    array = arrays[name]
    match random.integers(6):
        case 0:
            array = array.T
        case 1:
            array = array[:-1]
        case 2:
            array = np.concatenate([array, array[-1:]])
        case 3:
            array = array.reshape(-1)
        case 4 if array.ndim == 2:
            array = array[:, :-1]
        case 5 if array.ndim == 2:
            array = np.concatenate([array, array[:, -1:]], axis=1)
        case _:
            array = array[:0]
    arrays[name] = array


def change_type(meta, arrays, donor, random):
    name = chosen(random, sorted(arrays))
    with np.errstate(all="ignore"):
        arrays[name] = arrays[name].astype(chosen(random, list(DTYPES.values())))


def take_array(meta, arrays, donor, random):
    name = chosen(random, sorted(arrays))
    theirs = donor[1] if random.random() < 0.5 else arrays
    if theirs:
        arrays[name] = theirs[name] if name in theirs else chosen(random, [theirs[k] for k in sorted(theirs)])


def drop_array(meta, arrays, donor, random):
    del arrays[chosen(random, sorted(arrays))]


def change_width(meta, arrays, donor, random):
    """A view gets another width, in all that says so."""
    v = int(random.integers(2))
    by = int(random.choice([-1, 1, 3]))
    widths = {array.shape[-1] for name, array in arrays.items() if name.endswith(f".{v}") and array.ndim == 2}
    if not widths:
        return
    old = chosen(random, sorted(widths))
    for holder, key in places(meta):
        if type(holder[key]) is int and holder[key] == old:
            holder[key] = old + by
    for name, array in arrays.items():
        for axis in range(array.ndim):
            if array.shape[axis] == old and name.endswith(f".{v}"):
                array = np.take(array, np.arange(old + by) % old if old else [], axis=axis)
        arrays[name] = array


CHANGES = [
    *(change_value, change_value, change_value, change_everywhere, change_everywhere, take_value, move_value),
    *(drop_value, change_text, change_numbers, change_numbers, change_numbers, scale_numbers, change_shape),
    *(change_type, take_array, drop_array, change_width),
]
