"""Vectors in compiled code: number types of 16 or 64 floats that stay in registers.

Loops over the columns of a row are short, and what a compiler puts around them (checks whether arrays overlap, loops
for what is left over) takes as long as they do. With these, a loop is what it says. The compiler splits a vector into
as many registers as the processor needs for it.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.extending import intrinsic, models, register_model

from tupi.embedding.embedding import LANES
from tupi.runtime.computing import CACHE_LINE

WIDE = 4 * LANES
FUSED = ("contract",)  # a product and a sum may become one instruction
instruction: Any = intrinsic  # compiled code calls it without the first argument
part_of_a_loop = numba.njit(inline="always")  # functions whose call would take as long as what they do


class VectorType(types.Type):
    """The type of vectors of so many float32 or float64."""

    def __init__(self, lanes: int, dtype: Any = types.float32) -> None:
        self.lanes, self.dtype = lanes, dtype
        super().__init__(name=f"VectorType({lanes}, {dtype})")


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.VectorType(manager[kind.dtype].get_value_type(), kind.lanes))


def _address(context: Any, builder: Any, signature: Any, args: Any, kind: Any) -> Any:
    """Return a pointer to a vector: arguments are a C-ordered matrix, a row and a column."""
    struct = context.make_array(signature.args[0])(context, builder, args[0])
    stride, _ = cgutils.unpack_tuple(builder, struct.strides)
    row, column = (context.cast(builder, args[k], signature.args[k], types.intp) for k in (1, 2))
    begin = builder.add(builder.ptrtoint(struct.data, stride.type), builder.mul(row, stride))
    address = builder.add(begin, builder.mul(column, struct.itemsize))
    return builder.inttoptr(address, context.get_value_type(kind).as_pointer())


def _check(matrix: Any, vector: Any) -> None:
    """Refuse to compile for a matrix whose rows are not vectors of this kind, one entry after the other."""
    if matrix.layout != "C" or matrix.dtype != vector.dtype:
        raise errors.TypingError(f"{matrix} has no rows of {vector}")


def _zeros(lanes: int, dtype: Any = types.float32) -> Any:
    @instruction
    def zeros(typingctx: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return ir.Constant(context.get_value_type(signature.return_type), None)

        return VectorType(lanes, dtype)(), generate

    return zeros


zeros, wide_zeros, double_zeros = _zeros(LANES), _zeros(WIDE), _zeros(LANES, types.float64)


@instruction
def load(typingctx: Any, matrix: Any, row: Any, column: Any, like: Any) -> Any:
    """Return entries of a row from a column on, as many as ``like`` has; nobody checks that they are there."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = _address(context, builder, signature, args, like)
        return builder.load(at, align=matrix.dtype.bitwidth // 8)

    _check(matrix, like)
    return like(matrix, row, column, like), generate


@instruction
def store(typingctx: Any, matrix: Any, row: Any, column: Any, vector: Any) -> Any:
    """Write entries of a row from a column on; nobody checks that there is room."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = _address(context, builder, signature, args, vector)
        builder.store(args[3], at, align=matrix.dtype.bitwidth // 8)
        return context.get_dummy_value()

    _check(matrix, vector)
    return types.void(matrix, row, column, vector), generate


@instruction
def plus(typingctx: Any, a: Any, b: Any) -> Any:
    """Return a + b."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(*args, flags=FUSED)

    return a(a, b), generate


@instruction
def minus(typingctx: Any, a: Any, b: Any) -> Any:
    """Return a - b."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fsub(*args, flags=FUSED)

    return a(a, b), generate


@instruction
def plus_product(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a + b * c."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(args[0], builder.fmul(args[1], args[2], flags=FUSED), flags=FUSED)

    return a(a, b, c), generate


@instruction
def everywhere(typingctx: Any, value: Any, like: Any) -> Any:
    """Return a vector whose entries are all this value."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = context.get_value_type(like)
        number = context.cast(builder, args[0], signature.args[0], like.dtype)
        first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), like.lanes), [0] * like.lanes)
        return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), mask)

    return like(value, like), generate


@instruction
def total(typingctx: Any, vector: Any) -> Any:
    """Return the sum of the entries: halves are added until one is left."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, lanes, whole = args[0], vector.lanes, ir.IntType(32)
        while lanes > 1:
            lanes //= 2
            nothing = ir.Constant(value.type, ir.Undefined)
            low, high = (
                builder.shuffle_vector(value, nothing, ir.Constant(ir.VectorType(whole, lanes), list(each)))
                for each in (range(lanes), range(lanes, 2 * lanes))
            )
            value = builder.fadd(low, high)
        return builder.extract_element(value, ir.Constant(whole, 0))

    return vector.dtype(vector), generate


@instruction
def fetch(typingctx: Any, array: Any, row: Any) -> Any:
    """Ask the processor to bring a row into its cache, without waiting for it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        stride = cgutils.unpack_tuple(builder, struct.strides)[0]
        begin = builder.add(builder.ptrtoint(struct.data, stride.type), builder.mul(args[1], stride))
        flag, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        signature_of_it = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        prefetch = cgutils.get_or_insert_function(builder.module, signature_of_it, "llvm.prefetch.p0")
        zero, line = ir.Constant(stride.type, 0), ir.Constant(stride.type, CACHE_LINE)
        with cgutils.for_range_slice(builder, zero, stride, line) as (offset, _):
            address = builder.inttoptr(builder.add(begin, offset), pointer)
            builder.call(prefetch, [address, flag(0), flag(3), flag(1)])  # to read, soon again, data
        return context.get_dummy_value()

    return types.void(array, row), generate
