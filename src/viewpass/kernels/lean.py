"""A shorter way through numba's compiler, for functions that use little of the language.

Kernels are loops over numbers, mostly at addresses: they have no closures, no `with`, nothing to raise.
Passes that look for such are left out, and what an operator gives for numbers and pointers is worked out
once, not wherever it stands. The machine code is the same.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import cgutils, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering, NopythonTypeInference

_LEFT_OUT = {
    "WithLifting",
    "InlineClosureLikes",
    "RewriteDynamicRaises",
    "MakeFunctionToJitFunction",
    "FindLiterallyCalls",
    "LiteralUnroll",
    "LiteralPropagationSubPipelinePass",
    "InlineOverloads",
    "NoPythonSupportedFeatureValidation",
    "AnnotateTypes",
    "DumpParforDiagnostics",
}
_OPERATORS = {
    getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "and_", "or_", "xor"),
        *("iadd", "isub", "imul", "iand", "ior", "lt", "le", "gt", "ge", "eq", "ne", "neg", "not_"),
        *("getitem", "setitem"),
    )
}
_NUMBERS = (types.Integer, types.Float, types.Boolean, types.CPointer)

_known: dict[tuple[Any, tuple[Any, ...]], Any] = {}  # signatures; numba compiles one function at a time


def _signature(context: Any, function: Any, arguments: Any) -> Any:
    """What a function of numbers gives; None if it is not one whose answer is known to be always the same.

    That a number is known beforehand (its type is a literal) does not matter to these.
    """
    if function in _OPERATORS:
        function = context.resolve_value_type(function)  # another one when a library adds to it
    plain = tuple(types.unliteral(one) for one in arguments)
    if type(function) is not types.Function or not all(isinstance(one, _NUMBERS) for one in plain):
        return None
    key = function, plain
    if key not in _known:
        _known[key] = function.get_call_type(context, plain, {})
    return _known[key]


class _Context:
    """Numba's typing context, with a memory."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, arguments: Any, keywords: Any) -> Any:
        """The signature of a call."""
        found = None if keywords else _signature(self._context, function, arguments)
        if found is None:
            found = self._context.resolve_function_type(function, arguments, keywords)
        return found


class _Lower(Lower):
    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        """Room for a variable, about which no debugger is told."""
        return cgutils.alloca_once(self.builder, lltype, name=name, zfill=False)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """An operator on two numbers; whether they are known beforehand is left to LLVM."""
        wanted = self.fndesc.calltypes[expr]
        signature = _signature(self.context.typing_context, op, wanted.args)
        if signature is None or op not in _OPERATORS:
            return super().lower_binop(resty, expr, op)
        numbers = [
            self.context.cast(self.builder, self.loadvar(one.name), self.typeof(one.name), kind)
            for one, kind in zip((expr.lhs, expr.rhs), wanted.args, strict=True)
        ]
        function = self.context.typing_context.resolve_value_type(op)
        result = self.context.get_function(function, signature)(self.builder, numbers)
        return self.context.cast(self.builder, result, wanted.return_type, resty)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Inference(NopythonTypeInference):
    _name = "viewpass_inference"

    def run_pass(self, state: Any) -> Any:
        """Find the types, with a memory."""
        context = state.typingctx
        state.typingctx = _Context(context)
        try:
            return super().run_pass(state)
        finally:
            state.typingctx = context


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    _name = "viewpass_lowering"

    @property
    def lowering_class(self) -> Any:
        """What makes LLVM's code of numba's."""
        return _Lower


_INSTEAD = {"NopythonTypeInference": _Inference, "NativeLowering": _Lowering}


class Lean(CompilerBase):
    """A compiler for kernels; numba's own if `works` says so."""

    works = True

    def define_pipelines(self) -> list[Any]:
        """Numba's passes without those that kernels do not need."""
        whole = DefaultPassBuilder.define_nopython_pipeline(self.state)
        if not Lean.works:
            return [whole]
        short = PassManager("viewpass")
        for one, purpose in whole.passes:
            if one.__name__ not in _LEFT_OUT:
                short.add_pass(_INSTEAD.get(one.__name__, one), purpose)
        short.finalize()
        return [short]
