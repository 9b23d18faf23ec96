"""One small module for each operator of ExecuTorch's portable library, and for the quantised ones.

A case has the operator as program files name it, a function of tensors, what the tensors look like, and the types to
try it with. N in a shape is the size that is dynamic in the second version of the module.
"""
import dataclasses

import torch

A = torch.ops.aten
N = "N"

FLOATS = ["float32", "float64", "float16", "bfloat16"]
WIDE = ["float32", "float64"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8"]
NUMBERS = FLOATS + INTEGERS
ALL = NUMBERS + ["bool"]
FEW = ["float32", "float64", "float16", "int64", "int32", "uint8", "bool"]  # of kernels that move elements


@dataclasses.dataclass
class Tensor:
    """Numbers between `low` and `high`, multiples of 1/8 where they are no integers; of the case's type, or of `of`."""
    shape: tuple
    low: float = -4
    high: float = 4
    of: str = None
    last: bool = False  # channels last

    def make(self, dtype, n, random):
        dtype = getattr(torch, self.of or dtype)
        shape = [n if s == N else s for s in self.shape]
        if dtype == torch.bool:
            return torch.rand(shape, generator=random) < .5
        if dtype.is_complex:
            return torch.randn(shape, dtype=dtype, generator=random)
        step = 8 if dtype.is_floating_point else 1
        low = max(self.low, 0) if dtype == torch.uint8 else self.low
        tensor = torch.randint(int(low * step), int(self.high * step) + 1, shape, generator=random) / step
        tensor = tensor.to(dtype)
        return tensor.to(memory_format=torch.channels_last) if self.last else tensor


@dataclasses.dataclass
class Case:
    key: str              # "aten::add.out"
    function: object
    inputs: list
    dtypes: list
    dynamic: bool = True
    keep: list = None     # operators that the exporter would take apart
    exact: bool = True    # False: random numbers, of which only shapes and types are compared
    tolerance: float = 1e-4


CASES = []


def case(key, function, inputs, dtypes, **more):
    CASES.append(Case(key, function, inputs, dtypes, **more))


def T(*shape, low=-4, high=4, of=None):
    return Tensor(shape, low, high, of)


def index(*shape, high, low=0, of="int64"):
    return Tensor(shape, low, high, of)


def mask(*shape):
    return Tensor(shape, of="bool")


X, Y = T(N, 3), T(N, 3)
IMAGE = T(N, 2, 5, 6)

# Element-wise, one tensor
for name in ("asin", "acos", "atanh"):
    case(f"aten::{name}.out", getattr(A, name).default, [T(N, 3, low=-1, high=1)], FLOATS + ["int64", "bool"])
for name in ("log", "log10", "log2", "log1p", "sqrt", "rsqrt"):
    case(f"aten::{name}.out", getattr(A, name).default, [T(N, 3, low=1, high=9)], FLOATS + ["int64", "bool"])
case("aten::acosh.out", A.acosh.default, [T(N, 3, low=1, high=5)], FLOATS + ["int64"])
case("aten::logit.out", lambda x: A.logit.default(x, .125), [T(N, 3, low=0, high=1)], FLOATS,
     keep=[A.logit.default])
case("aten::reciprocal.out", A.reciprocal.default, [T(N, 3, low=1)], FLOATS + ["int64"])
for name in ("asinh", "atan", "cos", "cosh", "erf", "exp", "expm1", "sigmoid", "sin", "sinh", "tan", "tanh"):
    case(f"aten::{name}.out", getattr(A, name).default, [X], FLOATS + ["int64", "bool"])
for name in ("abs", "neg", "sign", "relu", "ceil", "floor", "trunc", "round"):
    case(f"aten::{name}.out", getattr(A, name).default, [X], FLOATS + ["int64", "int8", "uint8"])
for name in ("isinf", "isnan", "logical_not"):
    case(f"aten::{name}.out", getattr(A, name).default, [X], FEW)
case("aten::bitwise_not.out", A.bitwise_not.default, [X], INTEGERS + ["bool"])
case("aten::leaky_relu.out", lambda x: A.leaky_relu.default(x, .125), [X], FLOATS)
case("aten::elu.out", lambda x: A.elu.default(x, 1.5), [X], FLOATS)
case("aten::gelu.out", lambda x: (A.gelu.default(x), A.gelu.default(x, approximate="tanh")), [X], FLOATS)
case("aten::hardtanh.out", lambda x: A.hardtanh.default(x, -2, 3), [X], FLOATS + ["int64"])
case("aten::clamp.out", lambda x: (A.clamp.default(x, -1, 2), A.clamp.default(x, None, 1)), [X], NUMBERS)
case("aten::clamp.Tensor_out", lambda x, a, b: A.clamp.Tensor(x, a, b), [X, T(1, 3, low=-2, high=0), T(3, low=0)],
     FLOATS + ["int64"])
case("aten::glu.out", lambda x: A.glu.default(x, -1), [T(N, 6)], FLOATS, keep=[A.glu.default])

# Element-wise, several tensors
for name in ("add", "sub"):
    case(f"aten::{name}.out", lambda a, b, f=getattr(A, name).Tensor: (f(a, b), f(a, b, alpha=2)), [X, T(1, 3)],
         NUMBERS)
    case(f"aten::{name}.Scalar_out", lambda a, f=getattr(A, name).Scalar: (f(a, 2), f(a, 2, 3)), [X], NUMBERS)
case("aten::rsub.Scalar_out", lambda a: A.rsub.Scalar(a, 2, 3), [X], NUMBERS, keep=[A.rsub.Scalar])
case("aten::mul.out", A.mul.Tensor, [X, T(1, 3)], ALL)
case("aten::mul.Scalar_out", lambda a: A.mul.Scalar(a, 3), [X], NUMBERS)
for name in ("maximum", "minimum", "atan2"):
    case(f"aten::{name}.out", getattr(A, name).default, [X, T(3)], FLOATS + ["int64", "uint8"])
for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    case(f"aten::{name}.Tensor_out", getattr(A, name).Tensor, [X, T(1, 3)], FEW)
    case(f"aten::{name}.Scalar_out", lambda a, f=getattr(A, name).Scalar: f(a, 1), [X], FEW)
for name in ("logical_and", "logical_or", "logical_xor"):
    case(f"aten::{name}.out", getattr(A, name).default, [X, T(1, 3)], FEW)
for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    case(f"aten::{name}.Tensor_out", getattr(A, name).Tensor, [X, T(1, 3)], INTEGERS + ["bool"])
    case(f"aten::{name}.Scalar_out", lambda a, f=getattr(A, name).Scalar: f(a, 5), [X], INTEGERS)
for name in ("bitwise_left_shift", "bitwise_right_shift"):
    case(f"aten::{name}.Tensor_out", getattr(A, name).Tensor, [X, T(1, 3, low=0, high=3)], INTEGERS)
    case(f"aten::{name}.Tensor_Scalar_out", lambda a, f=getattr(A, name).Tensor_Scalar: f(a, 2), [X], INTEGERS,
         keep=[getattr(A, name).Tensor_Scalar])
for name in ("fmod", "remainder"):
    case(f"aten::{name}.Tensor_out", getattr(A, name).Tensor, [X, T(1, 3, low=1, high=3)], NUMBERS)
    case(f"aten::{name}.Scalar_out", lambda a, f=getattr(A, name).Scalar: f(a, 3), [X], NUMBERS)
case("aten::div.out", A.div.Tensor, [X, T(1, 3, low=1)], NUMBERS)
case("aten::div.Scalar_out", lambda a: A.div.Scalar(a, 3), [X], NUMBERS)
case("aten::div.out_mode", lambda a, b: (A.div.Tensor_mode(a, b, rounding_mode="floor"),
                                         A.div.Tensor_mode(a, b, rounding_mode="trunc")),
     [X, T(1, 3, low=1)], NUMBERS)
case("aten::div.Scalar_mode_out", lambda a: A.div.Scalar_mode(a, 3, rounding_mode="floor"), [X], NUMBERS)
case("aten::floor_divide.out", A.floor_divide.default, [X, T(1, 3, low=1)], NUMBERS, keep=[A.floor_divide.default])
case("aten::pow.Tensor_Tensor_out", A.pow.Tensor_Tensor, [T(N, 3, low=1), T(1, 3, low=0, high=3)], FLOATS + ["int64"])
case("aten::pow.Tensor_Scalar_out", lambda a: A.pow.Tensor_Scalar(a, 2), [X], NUMBERS)
case("aten::pow.Scalar_out", lambda a: A.pow.Scalar(2, a), [T(N, 3, low=0)], FLOATS + ["int64"])
case("aten::where.self_out", A.where.self, [mask(N, 1), X, T(3)], ALL)
case("aten::masked_fill.Scalar_out", lambda x, m: A.masked_fill.Scalar(x, m, 2), [X, mask(N, 1)], ALL,
     keep=[A.masked_fill.Scalar])

# Reductions
for name in ("amax", "amin"):
    case(f"aten::{name}.out", lambda x, f=getattr(A, name).default: (f(x, [1]), f(x, [0], True)), [X], ALL)
case("aten::any.all_out", A.any.default, [X], FEW)
case("aten::any.dims_out", lambda x: A.any.dims(x, [0, 1]), [X], FEW, keep=[A.any.dims])
case("aten::any.out", lambda x: A.any.dim(x, 1, True), [X], FEW)
for name in ("argmax", "argmin"):
    case(f"aten::{name}.out", lambda x, f=getattr(A, name).default: (f(x, 1), f(x, None)), [X], NUMBERS)
case("aten::cumsum.out", lambda x: A.cumsum.default(x, 0), [X], FLOATS + ["int64", "int32"])
for name in ("max", "min"):
    slot = "dim_max" if name == "max" else "dim_min"
    case(f"aten::{name}.{slot}", lambda x, f=getattr(A, name).dim: f(x, 1, True), [X], FLOATS + ["int64", "uint8"])
    case(f"aten::{name}.unary_out", getattr(A, name).default, [X], FLOATS + ["int64", "uint8"],
         keep=[getattr(A, name).default])
case("aten::mean.out", lambda x: (A.mean.dim(x, [1]), A.mean.dim(x, [-1, 0], True)), [X], FLOATS)
case("aten::mean.dtype_out", lambda x: A.mean.default(x), [X], FLOATS, keep=[A.mean.default])
case("aten::prod.int_out", lambda x: A.prod.dim_int(x, 1), [X], FLOATS + ["int64"])
case("aten::prod.out", lambda x: A.prod.default(x), [T(N, 2, low=1, high=2)], FLOATS + ["int64"])
case("aten::sum.IntList_out", lambda x: (A.sum.dim_IntList(x, [1]), A.sum.dim_IntList(x, [0, 1], True)), [X],
     FLOATS + ["int64", "int32", "bool"])
case("aten::topk.values", lambda x: A.topk.default(x, 2, 1), [T(N, 9, low=-99, high=99)], WIDE + ["int64"])
case("aten::var.correction_out", lambda x: A.var.correction(x, [1], correction=1, keepdim=True), [X], FLOATS)
case("aten::var.out", lambda x: A.var.dim(x, [0, 1], False), [X], FLOATS, keep=[A.var.dim])
case("aten::var_mean.correction_out", lambda x: A.var_mean.correction(x, [1], correction=0), [X], FLOATS,
     keep=[A.var_mean.correction])

# Normalisation
for name in ("_softmax", "_log_softmax"):
    case(f"aten::{name}.out", lambda x, f=getattr(A, name).default: (f(x, 1, False), f(x, 0, False)), [X], FLOATS)
BN = [IMAGE, T(2), T(2), T(2), T(2, low=1)]
case("aten::_native_batch_norm_legit_no_training.out",
     lambda x, w, b, m, v: A._native_batch_norm_legit_no_training.default(x, w, b, m, v, .1, 1e-3)[0], BN, FLOATS)
case("aten::_native_batch_norm_legit.no_stats_out",
     lambda x, w, b: A._native_batch_norm_legit.no_stats(x, w, b, True, .1, 1e-3), BN[:3], WIDE,
     keep=[A._native_batch_norm_legit.no_stats])
case("aten::native_group_norm.out",
     lambda x, w, b: A.native_group_norm.default(x, w, b, x.shape[0], 4, 15, 2, 1e-3), [T(N, 4, 3, 5), T(4), T(4)],
     FLOATS, keep=[A.native_group_norm.default])
case("aten::native_layer_norm.out", lambda x, w, b: A.native_layer_norm.default(x, [3], w, b, 1e-3), [X, T(3), T(3)],
     FLOATS)

# Products, convolution, pooling, resampling
case("aten::mm.out", A.mm.default, [T(N, 3), T(3, 5)], NUMBERS)
case("aten::bmm.out", A.bmm.default, [T(2, N, 3), T(2, 3, 4)], NUMBERS)
case("aten::addmm.out", lambda a, b, c: A.addmm.default(a, b, c, beta=2, alpha=3), [T(5), T(N, 3), T(3, 5)], NUMBERS)


def convolution(*options):
    return lambda x, w, b: A.convolution.default(x, w, b, *options)


case("aten::convolution.out", convolution([2, 1], [1, 0], [1, 2], False, [0, 0], 1), [IMAGE, T(4, 2, 3, 2), T(4)],
     FLOATS)
case("aten::convolution.out", convolution([1, 1], [1, 1], [1, 1], False, [0, 0], 2), [IMAGE, T(4, 1, 3, 3), T(4)],
     ["float32"])
case("aten::convolution.out", convolution([2, 2], [1, 0], [1, 1], True, [1, 0], 1), [IMAGE, T(2, 3, 3, 2), T(3)],
     WIDE)
case("aten::convolution.out", convolution([2], [1], [1], False, [0], 1), [T(N, 2, 7), T(3, 2, 3), T(3)], FLOATS)
BACKWARD = A.convolution_backward.default
case("aten::convolution_backward.out",
     lambda g, x, w: BACKWARD(g, x, w, [4], [2, 1], [1, 0], [1, 1], False, [0, 0], 1, [True, True, True]),
     [T(2, 4, 3, 5), T(2, 2, 5, 6), T(4, 2, 3, 2)], WIDE, dynamic=False, keep=[BACKWARD])
case("aten::max_pool2d_with_indices.out",
     lambda x: A.max_pool2d_with_indices.default(x, [3, 2], [2, 1], [1, 0], [1, 2], True), [IMAGE], FLOATS)
case("aten::max_pool2d_with_indices_backward.grad_input",
     lambda g, x, i: A.max_pool2d_with_indices_backward.default(g, x, [2, 2], [2, 2], [0, 0], [1, 1], False, i),
     [T(2, 2, 2, 3), T(2, 2, 5, 6), index(2, 2, 2, 3, high=29)], FLOATS, dynamic=False,
     keep=[A.max_pool2d_with_indices_backward.default])
case("aten::avg_pool2d.out", lambda x: (A.avg_pool2d.default(x, [3, 2], [2, 1], [1, 1], True, False),
                                        A.avg_pool2d.default(x, [2, 2], divisor_override=3)), [IMAGE], FLOATS)
case("aten::_adaptive_avg_pool2d.out", lambda x: A._adaptive_avg_pool2d.default(x, [2, 4]), [IMAGE], FLOATS,
     keep=[A._adaptive_avg_pool2d.default])
case("aten::pixel_shuffle.out", lambda x: A.pixel_shuffle.default(x, 2), [T(N, 4, 2, 3)], FEW,
     keep=[A.pixel_shuffle.default])
case("aten::pixel_unshuffle.out", lambda x: A.pixel_unshuffle.default(x, 2), [T(N, 2, 4, 6)], FEW,
     keep=[A.pixel_unshuffle.default])
case("aten::upsample_bilinear2d.vec_out",
     lambda x: (A.upsample_bilinear2d.vec(x, [7, 4], False, None), A.upsample_bilinear2d.vec(x, None, True, [2., 1.5])),
     [IMAGE], FLOATS, keep=[A.upsample_bilinear2d.vec])
case("aten::upsample_nearest2d.vec_out",
     lambda x: (A.upsample_nearest2d.vec(x, [7, 4], None), A.upsample_nearest2d.vec(x, None, [2., 1.5])), [IMAGE],
     FLOATS + ["uint8"], keep=[A.upsample_nearest2d.vec])
case("aten::_upsample_bilinear2d_aa.out", lambda x: (A._upsample_bilinear2d_aa.default(x, [3, 4], False),
                                                     A._upsample_bilinear2d_aa.default(x, [7, 3], True)), [IMAGE], WIDE,
     keep=[A._upsample_bilinear2d_aa.default])
for mode in range(3):
    case("aten::grid_sampler_2d.out", lambda x, g, m=mode: tuple(A.grid_sampler_2d.default(x, g, m, p, p == 1)
                                                                 for p in range(3)),
         [IMAGE, T(N, 3, 4, 2, low=-1.5, high=1.5)], WIDE, keep=[A.grid_sampler_2d.default])
case("aten::_cdist_forward.out", lambda a, b: tuple(A._cdist_forward.default(a, b, p, None)
                                                    for p in (0., 1., 2., 2.5, float("inf"))), [T(N, 3), T(4, 3)], WIDE,
     keep=[A._cdist_forward.default])
case("aten::_pdist_forward.out", lambda a: (A._pdist_forward.default(a, 2.), A._pdist_forward.default(a, 3.)),
     [T(5, 3)], WIDE, dynamic=False, keep=[A._pdist_forward.default])

# Indexing
case("aten::embedding.out", A.embedding.default, [T(6, 3), index(N, 2, high=5)], FEW)
case("aten::gather.out", lambda x, i: A.gather.default(x, 1, i), [X, index(N, 4, high=2)], FEW)
case("aten::index.Tensor_out", lambda x, i, j: (A.index.Tensor(x, [i]), A.index.Tensor(x, [None, j])),
     [T(5, 3), index(N, high=4), index(2, high=2, low=-3)], FEW)
PUT = [T(5, 3), index(N, high=4), T(N, 3)]
case("aten::index_put.out", lambda x, i, v: A.index_put.default(x, [i], v, True), PUT, WIDE + ["int64"])
case("aten::index_put_", lambda x, i, v: A.index_put_.default(A.add.Scalar(x, 1), [i], v), [T(5, 3), index(1, high=4),
                                                                                            T(1, 3)], WIDE,
     dynamic=False)
case("aten::index_select.out", lambda x, i: A.index_select.default(x, 1, i), [X, index(2, high=2)], FEW)
case("aten::nonzero.out", A.nonzero.default, [T(N, 3, low=-1, high=1)], FEW)
case("aten::masked_select.out", A.masked_select.default, [X, mask(N, 1)], FEW)
case("aten::masked_scatter.out", A.masked_scatter.default, [X, mask(N, 1), T(N, 3)], FEW,
     keep=[A.masked_scatter.default])
case("aten::repeat_interleave.Tensor_out", lambda r: A.repeat_interleave.Tensor(r, output_size=9),
     [Tensor((3,), 3, 3)], ["int64", "int32"], dynamic=False, keep=[A.repeat_interleave.Tensor])
SCATTER = [X, index(N, 3, high=2), T(N, 3)]
case("aten::scatter.src_out", lambda x, i, s: A.scatter.src(x, 1, i, s), [X, index(N, 1, high=2), T(N, 1)], FEW)
case("aten::scatter.value_out", lambda x, i: A.scatter.value(x, 1, i, 1), SCATTER[:2], FEW)
case("aten::scatter_add.out", lambda x, i, s: A.scatter_add.default(x, 1, i, s), SCATTER, FLOATS + ["int64"])
case("aten::select_scatter.out", lambda x, s: A.select_scatter.default(x, s, 1, -1), [X, T(N)], FEW,
     keep=[A.select_scatter.default])
case("aten::slice_scatter.out", lambda x, s: A.slice_scatter.default(x, s, 1, 0, 9, 2), [X, T(N, 2)], FEW,
     keep=[A.slice_scatter.default])

# Creation
case("aten::arange.out", lambda x: A.arange.default(5), [X], ["float32"], dynamic=False, keep=[A.arange.default])
case("aten::arange.start_out", lambda x: (A.arange.start_step(1, 9, 3), A.arange.start_step(.5, 2., .25)), [X],
     ["float32"], dynamic=False)
for name, arguments in (("full", [3]), ("zeros", []), ("ones", [])):
    case(f"aten::{name}.out", lambda x, f=getattr(A, name).default, a=arguments: f([x.shape[0], 2], *a, dtype=x.dtype),
         [X], FEW, keep=[getattr(A, name).default])
case("aten::full_like.out", lambda x: A.full_like.default(x, 2), [X], FEW)
case("aten::scalar_tensor.out", lambda x: A.scalar_tensor.default(2.5), [X], ["float32"], dynamic=False)
case("aten::fill.Scalar_out", lambda x: A.fill.Scalar(x, 2), [X], FEW, keep=[A.fill.Scalar])
case("aten::fill.Tensor_out", A.fill.Tensor, [X, T()], FEW, keep=[A.fill.Tensor])
case("dim_order_ops::_empty_dim_order.out", lambda x: A.empty.memory_format([x.shape[0], 2]), [X], ["float32"],
     exact=False)
case("aten::rand.out", lambda x: A.rand.default([x.shape[0], 2]), [X], ["float32"], exact=False)
case("aten::randn.out", lambda x: A.randn.default([x.shape[0], 2]), [X], ["float32"], exact=False)
case("aten::native_dropout.out", lambda x: A.native_dropout.default(x, .5, True), [X], FLOATS, exact=False,
     keep=[A.native_dropout.default])

# Copies and layout
for name in ("alias_copy", "detach_copy", "clone", "lift_fresh_copy"):
    key = "dim_order_ops::_clone_dim_order.out" if name == "clone" else f"aten::{name}.out"
    case(key, getattr(A, name).default, [X], FEW, keep=[getattr(A, name).default])
case("aten::cat.out", lambda a, b: A.cat.default([a, b, a], 1), [X, T(N, 2)], ALL)
case("aten::stack.out", lambda a, b: A.stack.default([a, b], 1), [X, Y], FEW, keep=[A.stack.default])
case("aten::constant_pad_nd.out", lambda x: A.constant_pad_nd.default(x, [1, 2, 0, 1], 3), [X], FEW)
case("aten::copy.out", A.copy.default, [X, T(1, 3)], FEW, keep=[A.copy.default])
case("aten::diagonal_copy.out", lambda x: A.diagonal_copy.default(x, 1, 1, 2), [T(N, 3, 4)], FEW)
case("aten::expand_copy.out", lambda x: A.expand_copy.default(x, [2, -1, 3]), [T(N, 1)], FEW)
case("aten::flip.out", lambda x: A.flip.default(x, [0, 1]), [X], FEW)
case("aten::narrow_copy.out", lambda x: A.narrow_copy.default(x, 1, 1, 2), [X], FEW, keep=[A.narrow_copy.default])
case("aten::permute_copy.out", lambda x: A.permute_copy.default(x, [2, 0, 1]), [T(N, 3, 4)], FEW)
case("aten::repeat.out", lambda x: A.repeat.default(x, [2, 1, 3]), [X], FEW, keep=[A.repeat.default])
for dims in (1, 2, 3):
    shape = (N, 2, 3, 4, 5)[:dims + 2]
    for name in (f"reflection_pad{dims}d", f"replication_pad{dims}d"):
        case(f"aten::{name}.out", lambda x, f=getattr(A, name).default, d=dims: f(x, [1, 2, 2, 1, 1, 0][:2 * d]),
             [T(*shape)], WIDE + ["float16"], keep=[getattr(A, name).default])
case("aten::roll.out", lambda x: A.roll.default(x, [1, -1], [0, 1]), [X], FEW, keep=[A.roll.default])
case("aten::select_copy.int_out", lambda x: A.select_copy.int(x, 1, -1), [X], FEW)
case("aten::slice_copy.Tensor_out", lambda x: A.slice_copy.Tensor(x, 1, 0, 9, 2), [X], FEW)
case("aten::split_copy.Tensor_out", lambda x: A.split_copy.Tensor(x, 2, 1), [X], FEW, keep=[A.split_copy.Tensor])
case("aten::split_with_sizes_copy.out", lambda x: A.split_with_sizes_copy.default(x, [1, 2], 1), [X], FEW)
case("aten::unbind_copy.int_out", lambda x: A.unbind_copy.int(x, 1), [X], FEW, keep=[A.unbind_copy.int])
case("aten::squeeze_copy.dim_out", lambda x: A.squeeze_copy.dim(x, 1), [T(N, 1, 3)], FEW, keep=[A.squeeze_copy.dim])
case("aten::squeeze_copy.dims_out", lambda x: A.squeeze_copy.dims(x, [1, 3]), [T(N, 1, 3, 1)], FEW)
case("aten::unsqueeze_copy.out", lambda x: A.unsqueeze_copy.default(x, 1), [X], FEW)
case("aten::t_copy.out", A.t_copy.default, [X], FEW, keep=[A.t_copy.default])
case("aten::transpose_copy.int_out", lambda x: A.transpose_copy.int(x, 0, 1), [X], FEW, keep=[A.transpose_copy.int])
case("aten::tril.out", lambda x: A.tril.default(x, 1), [T(N, 4)], FEW, keep=[A.tril.default])
case("aten::view_copy.out", lambda x: A.view_copy.default(x, [-1]), [X], FEW)
case("aten::as_strided_copy.out", lambda x: A.as_strided_copy.default(x, [2, 3], [1, 2], 1), [T(4, 3)], FEW,
     dynamic=False)
case("aten::unfold_copy.out", lambda x: A.unfold_copy.default(x, 1, 2, 1), [T(N, 5)], FEW,
     keep=[A.unfold_copy.default])
case("dim_order_ops::_to_dim_order_copy.out",
     lambda x: tuple(x.to(t) for t in (torch.float16, torch.float32, torch.int64, torch.int8, torch.bool)), [X], ALL)
case("dim_order_ops::_to_dim_order_copy.out", lambda x: x.to(memory_format=torch.channels_last).to(torch.float64) + 1,
     [T(2, 3, 4, 5)], ["float32"], dynamic=False)
COMPLEX = ["complex64", "complex128"]
case("aten::add.out", lambda a, b: (A.add.Tensor(a, b), A.add.Tensor(a, b, alpha=2)), [X, Y], COMPLEX)
for name in ("sub", "mul", "div"):
    case(f"aten::{name}.out", getattr(A, name).Tensor, [X, Y], COMPLEX)
case("aten::abs.out", A.abs.default, [X], COMPLEX)
case("aten::sum.IntList_out", lambda x: (A.sum.dim_IntList(x, [1]), A.sum.dim_IntList(x, [0, 1])), [X], COMPLEX)
case("aten::bmm.out", A.bmm.default, [T(2, N, 3), T(2, 3, 4)], COMPLEX)
case("dim_order_ops::_to_dim_order_copy.out", lambda x: x.to(torch.complex128), [X], ["complex64", "float32"])
case("aten::view_as_real_copy.out", A.view_as_real_copy.default, [X], COMPLEX)
case("aten::_conj_physical.out", lambda x: torch.view_as_real(A._conj_physical.default(x)), [X], COMPLEX,
     keep=[A._conj_physical.default])


def add_quantised_cases():
    """The operators of quantized_decomposed, which two modules of ExecuTorch register."""
    import executorch.exir.passes._quant_patterns_and_replacements  # noqa: F401
    import executorch.kernels.quantized  # noqa: F401
    Q = torch.ops.quantized_decomposed
    q = "quantized_decomposed::"
    rows, zeros = T(N, 1, low=1, of="float64"), index(N, 1, high=5)
    bytes_ = T(N, 4, low=-100, high=100, of="int8")

    case(q + "quantize_per_tensor.out",
         lambda x: (Q.quantize_per_tensor.default(x, .25, 3, -128, 127, torch.int8),
                    Q.quantize_per_tensor.default(x, .1, 7, 0, 255, torch.uint8),
                    Q.quantize_per_tensor.default(x, .01, 0, -32768, 32767, torch.int16)), [X], ["float32"])
    case(q + "quantize_per_tensor.Tensor_out",
         lambda x, s, z: Q.quantize_per_tensor.tensor(x, s, z, -128, 127, torch.int8),
         [X, T(1, low=1, high=2, of="float64"), index(1, high=5)], ["float32"])
    case(q + "quantize_per_channel.out",
         lambda x, s, z: Q.quantize_per_channel.default(x, s, z, 1, -128, 127, torch.int8),
         [X, T(3, low=1, of="float64"), index(3, high=5)], ["float32"])
    case(q + "quantize_per_token.out", lambda x, s, z: Q.quantize_per_token.default(x, s, z, -128, 127, torch.int8),
         [X, rows, zeros], ["float32"])
    case(q + "dequantize_per_tensor.out",
         lambda x: Q.dequantize_per_tensor.default(x, .25, 3, -128, 127, torch.int8), [bytes_], ["float32"])
    case(q + "dequantize_per_tensor.Tensor_out",
         lambda x, s, z: Q.dequantize_per_tensor.tensor(x, s, z, -128, 127, torch.int8),
         [bytes_, T(1, low=1, high=2, of="float64"), index(1, high=5)], ["float32"])
    case(q + "dequantize_per_channel.out",
         lambda x, s, z: Q.dequantize_per_channel.default(x, s, z, 1, -128, 127, torch.int8),
         [bytes_, T(4, low=1, of="float64"), index(4, high=5)], ["float32"])
    case(q + "dequantize_per_token.out",
         lambda x, s, z: Q.dequantize_per_token.default(x, s, z, -128, 127, torch.int8, torch.float32),
         [bytes_, rows, zeros], ["float32"])
    case(q + "choose_qparams.Tensor_out",
         lambda x: Q.choose_qparams.tensor(x, -128, 127, 1.1920928955078125e-07, torch.int8), [X], ["float32"])
    case(q + "choose_qparams_per_token_asymmetric.out",
         lambda x: Q.choose_qparams_per_token_asymmetric.default(x, torch.int8), [X], ["float32"])
    tokens = index(N, 2, high=5)
    # The exporter takes the results of the packed ones for f32, whatever the scales are.
    for name, low, high, weight in (("embedding_byte", -128, 127, T(6, 4, low=-100, high=100, of="int8")),
                                    ("embedding_4bit", -8, 7, T(6, 4, low=0, high=255, of="uint8")),
                                    ("embedding_2bit", -2, 1, T(6, 4, low=0, high=255, of="uint8"))):
        op = getattr(Q, name)
        case(f"{q}{name}.out", lambda w, s, i, f=op.default, a=low, b=high: f(w, s, None, a, b, i),
             [weight, T(6, low=1), tokens], ["float32", "float16"] if name == "embedding_byte" else ["float32"])
        case(f"{q}{name}.dtype_out",
             lambda w, s, z, i, f=op.dtype, a=low, b=high: f(w, s, z, a, b, i, dtype=torch.float32),
             [weight, T(6, 2, low=1), T(6, 2), tokens], ["float32"])
