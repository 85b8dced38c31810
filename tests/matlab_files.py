"""MATLAB files for tests, as SciPy writes versions 4 to 7 and MATLAB itself version 7.3."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp


def cell(values, shape=(1, -1)):
    """A cell of these values."""
    found = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        found[place] = value
    return found.reshape(shape)


def write_v5(path, variables):
    scipy.io.savemat(path, variables, do_compression=True)


CLASSES = {"f8": b"double", "f4": b"single", "b1": b"logical"}


def write_v73(path, variables):
    """Arrays transposed, cells of references, sparse matrices by column, logical and text as integers."""
    h5py = pytest.importorskip("h5py")
    numbers = itertools.count()

    def put(group, name, value):
        if isinstance(value, dict):
            own = group.create_group(name)
            for field, entry in value.items():
                put(own, field, entry)
            own.attrs["MATLAB_class"] = np.bytes_(b"struct")
            letters = [np.array(list(field), dtype="S1") for field in value]
            own.attrs.create("MATLAB_fields", cell(letters)[0], dtype=h5py.vlen_dtype(np.dtype("S1")))
            return own
        if sp.issparse(value):
            columns = sp.csc_matrix(value)
            own = group.create_group(name)
            own.attrs["MATLAB_sparse"] = np.uint64(columns.shape[0])
            own.attrs["MATLAB_class"] = np.bytes_(b"double")
            own["jc"] = columns.indptr.astype(np.uint64)
            if columns.nnz:
                own["data"], own["ir"] = columns.data, columns.indices.astype(np.uint64)
            return own
        value = np.atleast_2d(np.asarray(value))
        if value.dtype.names:  # a struct array: each field holds references
            own = group.create_group(name)
            own.attrs["MATLAB_class"] = np.bytes_(b"struct")
            for field in value.dtype.names:
                own.create_dataset(field, data=references(value[field]), dtype=h5py.ref_dtype)
            return own
        if value.size == 0:
            own = group.create_dataset(name, data=np.array(value.shape, dtype=np.uint64))
            own.attrs["MATLAB_empty"] = np.uint8(1)
            kind = {"O": b"cell", "U": b"char"}.get(value.dtype.kind, b"double")
        elif value.dtype == object:
            own = group.create_dataset(name, data=references(value), dtype=h5py.ref_dtype)
            kind = b"cell"
        elif value.dtype.kind == "U":
            lines = [str(line) for line in value.ravel()]
            letters = np.array(
                [[ord(letter) for letter in line.ljust(max(map(len, lines)))] for line in lines]
            )
            own = group.create_dataset(name, data=letters.astype(np.uint16).T)
            own.attrs["MATLAB_int_decode"] = np.int32(2)
            kind = b"char"
        else:
            kind = CLASSES.get(value.dtype.str[1:], value.dtype.name.encode())
            own = group.create_dataset(name, data=value.astype(np.uint8).T if kind == b"logical" else value.T)
            if kind == b"logical":
                own.attrs["MATLAB_int_decode"] = np.int32(1)
        own.attrs["MATLAB_class"] = np.bytes_(kind)
        return own

    with h5py.File(path, "w", userblock_size=512) as file:
        refs = file.create_group("#refs#")

        def references(values):
            places = [put(refs, f"r{next(numbers)}", one).ref for one in values.ravel(order="F")]
            return np.array(places, dtype=h5py.ref_dtype).reshape(values.T.shape)

        for name, value in variables.items():
            put(file, name, value)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def plain(view):
    return view.toarray() if sp.issparse(view) else view
