"""Methods by name: ours, `module:Class(setting=value)` and programs (`cmd:...`); labels after each pass."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import scipy.sparse

from viewpass.errors import SettingError
from viewpass.evaluate.harness import memory
from viewpass.evaluate.harness.program import run_program
from viewpass.kernels.grid import Array, Mask
from viewpass.version import __version__

# Estimators of viewpass are named as anyone's are: nothing here knows what they are.
OURS = {
    "ViewPass": "viewpass:ViewPass",
    "OPIMC": "viewpass:OPIMC(compute_labels=False)",
    "IMC": "viewpass:IMC",
    "OMVC": "viewpass:OMVC",
    "ONMF-I": "viewpass:ONMF",
    "ONMF-DA": "viewpass:ONMF(hessian='diagonal')",
    "MultiNMF": "viewpass:MultiNMF",
    "MIC": "viewpass:MIC",
    "DAIMC": "viewpass:DAIMC",
    "k-means": "viewpass.baselines.filled:FilledKMeans",
}
COMMAND = "cmd:"
NAMED = re.compile(r"([^=:()]+)=(.+)", re.DOTALL)
FIGURES = ("n_iter_", "loss_curve_")  # recorded where a method has them, beside its `figures_`


@dataclass(frozen=True)
class Method:
    """A method of a benchmark: its name in tables, and what makes it."""

    name: str
    spec: str
    tuned: bool = False  # whether its settings were chosen with the classes
    made_by: Callable[..., Any] | None = None  # an object of this process, in place of a spec

    @property
    def digest(self) -> str:
        """What its results depend on: the version of viewpass, or the file of the class or program."""
        return _digest(self.spec, self.made_by)


@dataclass(frozen=True)
class Given:
    """What a method gets: views with hidden rows blanked, and never the classes."""

    views: list[Any]
    observed: Mask
    n_clusters: int
    seed: int
    n_threads: int
    names: Sequence[str] = ()


@dataclass(frozen=True)
class Step:
    """Labels after a pass, and what they cost."""

    labels: Array
    seconds: float
    processor: float
    label_seconds: float = 0.0  # for labels that are computed after the fit, such as by k-means
    memory: int = 0
    figures: dict[str, Any] | None = None


def parsed_methods(given: Sequence[Any], tuned: Sequence[str] = ()) -> list[Method]:
    """Methods of names, specs, `NAME=SPEC`, or objects that make one; commas separate several names.

    >>> [method.name for method in parsed_methods(["OPIMC,Mine=my:Method(a=1, b=2)", "cmd:prog {in} {out}"])]
    ['OPIMC', 'Mine', 'prog']
    """
    methods = []
    for one in given:
        if callable(one):
            methods.append(Method(getattr(one, "__name__", type(one).__name__), repr(one), made_by=one))
            continue
        for text in [one] if COMMAND in one else _split(one):
            methods.append(_parsed(text.strip()))
    names = [method.name for method in methods]
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"two methods are named {name!r}. Give them names: NAME=SPEC.")
    for name in tuned:
        if name not in names:
            raise SettingError(f"tuned {name!r} is not one of the methods {', '.join(names)}.")
    return [Method(m.name, m.spec, m.name in tuned, m.made_by) for m in methods]


def _split(text: str) -> list[str]:
    return [part for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def _parsed(text: str) -> Method:
    named = NAMED.fullmatch(text)
    name, spec = (named[1].strip(), named[2].strip()) if named else ("", text)
    stem = spec.partition("(")[0]
    if stem in OURS:
        base = OURS[stem].partition("(")
        own, more = base[2].rstrip(")"), spec.partition("(")[2].rstrip(")")
        settings = ", ".join(part for part in (own, more) if part)
        return Method(name or spec, f"{base[0]}({settings})" if settings else base[0])
    if spec.startswith(COMMAND):
        return Method(name or Path(shlex.split(spec.removeprefix(COMMAND))[0]).name, spec)
    if ":" not in spec:
        raise SettingError(
            f"method {text!r}: choose {', '.join(OURS)}, or give `module:Class`, `file.py:Class` or "
            "`cmd:program {in} {out}`."
        )
    return Method(name or spec.partition(":")[2], spec)


def maker(spec: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The class (or function) that `module:Name(setting=value)` names, and its settings."""
    home, _, rest = spec.partition(":")
    try:
        call = ast.parse(rest.strip(), mode="eval").body
        settings = {}
        if isinstance(call, ast.Call):
            if call.args:
                raise ValueError("settings need names")
            settings = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
            call = call.func
        name = ast.unparse(call)
        found: Any = _module(home)
        for part in name.split("."):
            found = getattr(found, part)
    except (SyntaxError, ValueError, ImportError, AttributeError, OSError) as problem:
        raise SettingError(f"method {spec!r} cannot be loaded: {problem}.") from problem
    return found, settings


def _module(home: str) -> Any:
    here = os.getcwd()
    if here not in sys.path:  # a console script does not look in the working directory
        sys.path.insert(0, here)
    if not home.endswith(".py"):
        return import_module(home)
    spec = importlib.util.spec_from_file_location(Path(home).stem, home)
    if spec is None or spec.loader is None:
        raise ImportError(f"{home} is no Python file")
    module = sys.modules[Path(home).stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _digest(spec: str, made_by: Callable[..., Any] | None) -> str:
    if spec.startswith(COMMAND):
        files = [Path(word) for word in shlex.split(spec.removeprefix(COMMAND)) if Path(word).is_file()]
    else:
        found = made_by or maker(spec)[0]
        if getattr(found, "__module__", "").split(".")[0] == "viewpass":
            return __version__
        try:
            files = [Path(inspect.getsourcefile(found) or "")]
        except TypeError:  # a class of a notebook may be another one next time: nothing is taken from before
            return uuid4().hex
    contents = [path.read_bytes() for path in files if path.is_file()]
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:16]


# ---- running


def steps(method: Method, given: Given, n_passes: int) -> Iterator[Step]:
    """Labels after each of `n_passes` passes, of methods that have passes; else after the fit."""
    if method.spec.startswith(COMMAND):
        yield Step(*run_program(method.spec.removeprefix(COMMAND), given))
        return
    model = _made(method, given, n_passes)
    if n_passes and hasattr(model, "fit_passes"):
        views, more = _arguments(model.fit_passes, given)
        yield from _timed(model.fit_passes(views, **more))
        return
    has_passes = n_passes and "n_passes" in _parameters(model)
    for number in range(1, n_passes + 1) if has_passes else [0]:
        yield from _timed(_once(_made(method, given, number), given))


def _made(method: Method, given: Given, n_passes: int) -> Any:
    make, settings = (method.made_by, {}) if method.made_by else maker(method.spec)
    known = {"n_clusters": given.n_clusters, "random_state": given.seed, "n_threads": given.n_threads}
    accepted = inspect.signature(make).parameters
    anything = any(one.kind is one.VAR_KEYWORD for one in accepted.values())
    own = {name: value for name, value in known.items() if anything or name in accepted}
    model = make(**{**own, **settings})
    if n_passes and "n_passes" in _parameters(model):
        model.set_params(n_passes=n_passes)
    return model


def _parameters(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = model.get_params() if hasattr(model, "get_params") else {}
    return found


def _arguments(fit: Any, given: Given) -> tuple[list[Any], dict[str, Any]]:
    """The mask as well, and sparse views as they are, for a method that takes `observed`.

    Others get dense arrays with rows of NaN, as iMML's methods do.
    """
    if "observed" in inspect.signature(fit).parameters:
        return given.views, {"observed": given.observed}
    return [_dense(view, seen) for view, seen in zip(given.views, given.observed.T, strict=True)], {}


def _dense(view: Any, seen: Mask) -> Array:
    array = np.array(view.toarray() if scipy.sparse.issparse(view) else view, dtype=np.float64)
    array[~seen] = np.nan
    return array


def _once(model: Any, given: Given) -> Iterator[Any]:
    fit = model.fit if hasattr(model, "fit") else model.fit_predict
    views, more = _arguments(fit, given)
    found = fit(views, **more)
    if not hasattr(model, "fit"):
        model.labels_ = found
    elif not any(hasattr(model, name) for name in ("labels_", "stream_labels_")):
        model.labels_ = model.predict(views)
    yield model


def _timed(fitted: Iterator[Any]) -> Iterator[Step]:
    """A step for each model, with the cost of getting it and of its labels."""
    while True:
        held, clock, processor = memory.trimmed(), time.perf_counter(), time.process_time()
        model = next(fitted, None)
        if model is None:
            return
        took = time.perf_counter() - clock, time.process_time() - processor
        clock = time.perf_counter()
        labels = np.asarray(model.labels_ if hasattr(model, "labels_") else model.stream_labels_)
        after = time.perf_counter() - clock
        yield Step(labels, *took, after, max(memory.peak() - held, 0), _figures(model))


def _figures(model: Any) -> dict[str, Any]:
    found = {name.rstrip("_"): getattr(model, name) for name in FIGURES if hasattr(model, name)}
    found |= getattr(model, "figures_", {})
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in found.items()}
