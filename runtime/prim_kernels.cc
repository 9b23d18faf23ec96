#include "runtime/prim_kernels.h"

#include <cmath>
#include <cstring>

#include "base/half.h"
#include "base/math.h"
#include "base/result.h"
#include "runtime/arguments.h"

namespace berth {
namespace {

Error wrong_kind(KernelContext& context) {
  return context.fail(Error::kInvalidType, "an argument is of a kind that this operator does not accept");
}

// Whether `x` has an integer part that int64_t holds.
bool fits_integer(double x) { return x >= -9223372036854775808.0 && x < 9223372036854775808.0; }

Error set_integer_of(KernelContext& context, double x, EValue& out) {
  if (!fits_integer(x)) return context.fail(Error::kInvalidArgument, "the number does not fit in a 64-bit integer");
  out = EValue(static_cast<int64_t>(x));
  return Error::kOk;
}

// Adds as unsigned, so that overflow wraps.
int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrapping_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

bool is_number(const EValue& value) { return value.is_int() || value.is_double(); }
bool both_int(const EValue& a, const EValue& b) { return a.is_int() && b.is_int(); }
bool both_numbers(const EValue& a, const EValue& b) { return is_number(a) && is_number(b); }

template <int64_t (*on_ints)(int64_t, int64_t), double (*on_doubles)(double, double)>
Error arithmetic(KernelContext& context, const EValue& a, const EValue& b, EValue& out) {
  if (both_int(a, b)) {
    out = EValue(on_ints(a.to_int(), b.to_int()));
  } else if (both_numbers(a, b)) {
    out = EValue(on_doubles(a.scalar_to<double>(), b.scalar_to<double>()));
  } else {
    return wrong_kind(context);
  }
  return Error::kOk;
}

double add_doubles(double a, double b) { return a + b; }
double sub_doubles(double a, double b) { return a - b; }
double mul_doubles(double a, double b) { return a * b; }

Error truediv(KernelContext& context, const EValue& a, const EValue& b, EValue& out) {
  if (!both_numbers(a, b)) return wrong_kind(context);
  out = EValue(a.scalar_to<double>() / b.scalar_to<double>());
  return Error::kOk;
}

// Two divisions have no result: by zero, and the smallest integer by -1.
Error check_divisor(KernelContext& context, int64_t a, int64_t b) {
  if (b == 0) return context.fail(Error::kInvalidArgument, "division by zero");
  if (b == -1 && a == INT64_MIN) return context.fail(Error::kInvalidArgument, "the quotient does not fit in 64 bits");
  return Error::kOk;
}

// Python's a // b for floating-point numbers: (a - a mod b) / b, where mod has the divisor's sign.
double floor_quotient(double a, double b) {
  if (b == 0) return std::copysign(HUGE_VAL, a);
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

Error floordiv_scalar(KernelContext& context, const EValue& a, const EValue& b, EValue& out) {
  if (both_int(a, b)) {
    const int64_t x = a.to_int(), y = b.to_int();
    BERTH_RETURN_IF_ERROR(check_divisor(context, x, y));
    const int64_t floor = x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0);
    out = EValue(floor);
    return Error::kOk;
  }
  if (!both_numbers(a, b)) return wrong_kind(context);
  out = EValue(floor_quotient(a.scalar_to<double>(), b.scalar_to<double>()));
  return Error::kOk;
}

Error floordiv_int(KernelContext& context, const EValue& a, const EValue& b, EValue& out) {
  if (!both_int(a, b)) return wrong_kind(context);
  BERTH_RETURN_IF_ERROR(check_divisor(context, a.to_int(), b.to_int()));
  out = EValue(a.to_int() / b.to_int());
  return Error::kOk;
}

Error mod(KernelContext& context, const EValue& a, const EValue& b, EValue& out) {
  if (!both_int(a, b)) return wrong_kind(context);
  BERTH_RETURN_IF_ERROR(check_divisor(context, a.to_int(), b.to_int()));
  out = EValue(a.to_int() % b.to_int());
  return Error::kOk;
}

struct Equal {
  template <typename T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Greater {
  template <typename T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct Less {
  template <typename T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct GreaterOrEqual {
  template <typename T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct LessOrEqual {
  template <typename T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};

template <typename Relation>
Error compare(KernelContext& context, const EValue& a, const EValue& b, EValue& out) {
  if (both_int(a, b)) {
    out = EValue(Relation()(a.to_int(), b.to_int()));
  } else if (both_numbers(a, b)) {
    out = EValue(Relation()(a.scalar_to<double>(), b.scalar_to<double>()));
  } else if (a.is_bool() && b.is_bool()) {
    out = EValue(Relation()(static_cast<int>(a.to_bool()), static_cast<int>(b.to_bool())));
  } else {
    return wrong_kind(context);
  }
  return Error::kOk;
}

Error negate(KernelContext& context, const EValue& a, EValue& out) {
  if (!is_number(a)) return wrong_kind(context);
  out = a.is_int() ? EValue(wrapping_sub(0, a.to_int())) : EValue(-a.to_double());
  return Error::kOk;
}

Error to_float(KernelContext& context, const EValue& a, EValue& out) {
  if (!a.is_scalar()) return wrong_kind(context);
  out = EValue(a.scalar_to<double>());
  return Error::kOk;
}

Error to_int(KernelContext& context, const EValue& a, EValue& out) {
  if (!a.is_scalar()) return wrong_kind(context);
  if (a.is_double()) return set_integer_of(context, a.to_double(), out);
  out = EValue(a.scalar_to<int64_t>());
  return Error::kOk;
}

double half_to_even(double x) {
  const double floor = std::floor(x);
  const double part = x - floor;
  if (part != 0.5) return part < 0.5 ? floor : floor + 1;
  return std::fmod(floor, 2) == 0 ? floor : floor + 1;
}
double ceiling(double x) { return std::ceil(x); }
double truncation(double x) { return std::trunc(x); }

template <double (*rounding)(double)>
Error round_to_int(KernelContext& context, const EValue& a, EValue& out) {
  if (!a.is_double()) return wrong_kind(context);
  return set_integer_of(context, rounding(a.to_double()), out);
}

Error sym_max(KernelContext& context, const EValue& a, const EValue& b, EValue& out) {
  if (!both_int(a, b)) return wrong_kind(context);
  out = a.to_int() < b.to_int() ? b : a;
  return Error::kOk;
}

Error sym_min(KernelContext& context, const EValue& a, const EValue& b, EValue& out) {
  if (!both_int(a, b)) return wrong_kind(context);
  out = b.to_int() < a.to_int() ? b : a;
  return Error::kOk;
}

Error sym_not(KernelContext& context, const EValue& a, EValue& out) {
  if (!a.is_bool()) return wrong_kind(context);
  out = EValue(!a.to_bool());
  return Error::kOk;
}

Error sym_ite(KernelContext& context, const EValue& condition, const EValue& a, const EValue& b, EValue& out) {
  if (!condition.is_bool() || !a.is_scalar() || !b.is_scalar()) return wrong_kind(context);
  out = condition.to_bool() ? a : b;
  return Error::kOk;
}

Error sym_size(KernelContext& context, const EValue& self, const EValue& dim, EValue& out) {
  if (!self.is_tensor() || !dim.is_int()) return wrong_kind(context);
  const Tensor& tensor = self.tensor();
  const int64_t rank = tensor.rank();
  int64_t d = dim.to_int();
  if (d < -rank || d >= rank) return context.fail(Error::kInvalidArgument, "the tensor does not have this dimension");
  if (d < 0) d += rank;
  out = EValue(tensor.size(static_cast<int>(d)));
  return Error::kOk;
}

Error sym_numel(KernelContext& context, const EValue& self, EValue& out) {
  if (!self.is_tensor()) return wrong_kind(context);
  out = EValue(self.tensor().numel());
  return Error::kOk;
}

template <typename T>
T first_element(const Tensor& tensor) {
  T element;
  std::memcpy(&element, tensor.raw(), sizeof(T));
  return element;
}

Error local_scalar_dense(KernelContext& context, const EValue& self, EValue& out) {
  if (!self.is_tensor()) return wrong_kind(context);
  const Tensor& tensor = self.tensor();
  if (tensor.numel() < 1 || tensor.raw() == nullptr) {
    return context.fail(Error::kInvalidArgument, "the tensor has no element to read");
  }
  switch (tensor.dtype()) {
    case DType::kU8: out = EValue(int64_t{first_element<uint8_t>(tensor)}); break;
    case DType::kI8: out = EValue(int64_t{first_element<int8_t>(tensor)}); break;
    case DType::kI16: out = EValue(int64_t{first_element<int16_t>(tensor)}); break;
    case DType::kI32: out = EValue(int64_t{first_element<int32_t>(tensor)}); break;
    case DType::kI64: out = EValue(first_element<int64_t>(tensor)); break;
    case DType::kU16: out = EValue(int64_t{first_element<uint16_t>(tensor)}); break;
    case DType::kU32: out = EValue(int64_t{first_element<uint32_t>(tensor)}); break;
    case DType::kBool: out = EValue(first_element<uint8_t>(tensor) != 0); break;
    case DType::kF16: out = EValue(double{static_cast<float>(first_element<Half>(tensor))}); break;
    case DType::kBF16: out = EValue(double{static_cast<float>(first_element<BFloat16>(tensor))}); break;
    case DType::kF32: out = EValue(double{first_element<float>(tensor)}); break;
    case DType::kF64: out = EValue(first_element<double>(tensor)); break;
    default: return context.fail(Error::kInvalidType, "a tensor of this element type has no scalar value");
  }
  return Error::kOk;
}

// The sizes in `list` of a view of `numel` elements, with -1 replaced.
Error view_sizes(KernelContext& context, Span<EValue* const> list, int64_t numel, int32_t (&sizes)[kMaxRank]) {
  int64_t known = 1;
  int inferred = -1;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i]->is_int()) return wrong_kind(context);
    const int64_t size = list[i]->to_int();
    if (size == -1 && inferred < 0) {
      inferred = static_cast<int>(i);
    } else if (size < 0 || size > INT32_MAX || !checked_mul(known, size, &known)) {
      return context.fail(Error::kInvalidArgument, "a size of the view is negative or too large");
    } else {
      sizes[i] = static_cast<int32_t>(size);
    }
  }
  if (inferred >= 0) {
    if (known == 0 || numel % known != 0 || numel / known > INT32_MAX) {
      return context.fail(Error::kInvalidArgument, "the view's size -1 does not follow from the others");
    }
    sizes[inferred] = static_cast<int32_t>(numel / known);
    known = numel;
  }
  if (known != numel) return context.fail(Error::kInvalidArgument, "a view keeps the number of elements");
  return Error::kOk;
}

Error et_view(KernelContext& context, const EValue& self, const EValue& size, const EValue& out) {
  if (!self.is_tensor() || size.tag() != Tag::kIntList || !out.is_tensor()) return wrong_kind(context);
  const Tensor& from = self.tensor();
  Tensor& view = out.tensor();
  const Span<EValue* const> list = size.items();
  if (from.dtype() != view.dtype()) return context.fail(Error::kInvalidArgument, "a view keeps the element type");
  if (from.device() != view.device()) return context.fail(Error::kInvalidArgument, "a view stays on its device");
  if (list.size() != view.sizes().size()) {
    return context.fail(Error::kInvalidArgument, "the view does not have as many sizes as its output has dimensions");
  }
  int32_t sizes[kMaxRank];
  BERTH_RETURN_IF_ERROR(view_sizes(context, list, from.numel(), sizes));
  if (view.resize({sizes, list.size()}) != Error::kOk) {
    return context.fail(Error::kInvalidArgument, "the view exceeds the largest size of its output");
  }
  view.set_data(from.raw());
  return Error::kOk;
}

Error et_copy_index(KernelContext& context, const EValue& copy_to, const EValue& copy_from, const EValue& index) {
  if (!copy_to.is_tensor() || !copy_from.is_tensor() || !index.is_int()) return wrong_kind(context);
  Tensor& to = copy_to.tensor();
  const Tensor& from = copy_from.tensor();
  const int64_t row = index.to_int();
  bool fits = to.dtype() == from.dtype() && to.rank() == from.rank() + 1 && row >= 0 && row < INT32_MAX;
  int32_t sizes[kMaxRank];
  for (int i = 0; fits && i < from.rank(); ++i) {
    sizes[i + 1] = static_cast<int32_t>(from.size(i));
    // The first row says how large the others are: before it, the sizes are the largest ones, or an earlier run's.
    fits = row == 0 || to.size(i + 1) == from.size(i);
  }
  if (!fits) return context.fail(Error::kInvalidArgument, "the slice does not fit into a row of the stack");
  sizes[0] = static_cast<int32_t>(row + 1);
  if (to.resize({sizes, to.sizes().size()}) != Error::kOk) {
    return context.fail(Error::kInvalidArgument, "the stack exceeds the largest size of its output");
  }
  const size_t bytes = from.nbytes();
  if (bytes == 0) return Error::kOk;
  if (to.raw() == nullptr || from.raw() == nullptr) {
    return context.fail(Error::kInvalidState, "a tensor of the stack has no memory");
  }
  std::memmove(to.data<uint8_t>() + row * bytes, from.raw(), bytes);
  return Error::kOk;
}

/// A row of `rows`, and bytes from one to the next.
Error find_row(KernelContext& context, const Tensor& rows, int64_t index, Tensor& row, int64_t* stride) {
  if (rows.rank() < 1 || !rows.is_contiguous()) {
    return context.fail(Error::kInvalidArgument, "the tensor has no rows, or they do not lie one after the other");
  }
  if (rows.device() != row.device()) return context.fail(Error::kInvalidArgument, "a row stays on its tensor's device");
  *stride = static_cast<int64_t>(element_size(rows.dtype()));
  for (int d = 1; d < rows.rank(); ++d) *stride *= rows.size(d);
  // No product can be too large: the sizes of a tensor are, and its capacity bounds the index.
  const int64_t bytes = rows.capacity() * static_cast<int64_t>(element_size(rows.dtype()));
  if (index < 0 || index > INT32_MAX - 1 || (*stride > 0 && index >= bytes / *stride)) {
    return context.fail(Error::kInvalidArgument, "the tensor does not have as many rows");
  }
  if (rows.raw() == nullptr && *stride > 0) {
    return context.fail(Error::kInvalidState, "the tensor of the rows has no memory");
  }
  return Error::kOk;
}

Error row_read(KernelContext& context, const EValue& self, const EValue& index, const EValue& out) {
  if (!self.is_tensor() || !index.is_int() || !out.is_tensor()) return wrong_kind(context);
  const Tensor& rows = self.tensor();
  Tensor& row = out.tensor();
  int64_t stride = 0;
  BERTH_RETURN_IF_ERROR(find_row(context, rows, index.to_int(), row, &stride));
  bool fits = rows.dtype() == row.dtype() && rows.rank() == row.rank() + 1 && row.is_contiguous();
  for (int d = 0; fits && d < row.rank(); ++d) fits = rows.size(d + 1) == row.size(d);
  if (!fits || index.to_int() >= rows.size(0)) {
    return context.fail(Error::kInvalidArgument, "the view is not one of the tensor's rows");
  }
  if (stride > 0) row.set_data(static_cast<uint8_t*>(rows.raw()) + index.to_int() * stride);
  return Error::kOk;
}

// The row may be of another type, and smaller: rows of bytes hold anything.
Error row_write(KernelContext& context, const EValue& self, const EValue& index, const EValue& out) {
  if (!self.is_tensor() || !index.is_int() || !out.is_tensor()) return wrong_kind(context);
  Tensor& rows = self.tensor();
  Tensor& row = out.tensor();
  int64_t stride = 0;
  BERTH_RETURN_IF_ERROR(find_row(context, rows, index.to_int(), row, &stride));
  if (row.capacity() * static_cast<int64_t>(element_size(row.dtype())) > stride) {
    return context.fail(Error::kInvalidArgument, "the row has more bytes than those of the tensor");
  }
  if (rows.dynamism() != ShapeDynamism::kStatic) {
    int32_t sizes[kMaxRank];
    for (int d = 1; d < rows.rank(); ++d) sizes[d] = static_cast<int32_t>(rows.size(d));
    sizes[0] = static_cast<int32_t>(index.to_int() + 1);
    if (rows.resize({sizes, rows.sizes().size()}) != Error::kOk) {
      return context.fail(Error::kInvalidArgument, "the stack exceeds the largest size of its output");
    }
  }
  if (stride > 0) row.set_data(static_cast<uint8_t*>(rows.raw()) + index.to_int() * stride);
  return Error::kOk;
}

constexpr char kUnary[] = "Scalar a -> slot out";
constexpr char kBinary[] = "Scalar a, Scalar b -> slot out";

constexpr KernelEntry kPrimKernels[] = {
    {"aten::sym_size.int", "Tensor self, int dim -> slot out", untyped<sym_size>, nullptr, -1, true},
    {"aten::sym_numel", "Tensor self -> slot out", untyped<sym_numel>, nullptr, -1, true},
    {"aten::_local_scalar_dense", "Tensor self -> slot out", untyped<local_scalar_dense>},
    {"executorch_prim::add.Scalar", kBinary, untyped<arithmetic<wrapping_add, add_doubles>>},
    {"executorch_prim::sub.Scalar", kBinary, untyped<arithmetic<wrapping_sub, sub_doubles>>},
    {"executorch_prim::mul.Scalar", kBinary, untyped<arithmetic<wrapping_mul, mul_doubles>>},
    {"executorch_prim::floordiv.Scalar", kBinary, untyped<floordiv_scalar>},
    {"executorch_prim::floordiv.int", kBinary, untyped<floordiv_int>},
    {"executorch_prim::truediv.Scalar", kBinary, untyped<truediv>},
    {"executorch_prim::mod.Scalar", kBinary, untyped<mod>},
    {"executorch_prim::mod.int", kBinary, untyped<mod>},
    {"executorch_prim::eq.Scalar", kBinary, untyped<compare<Equal>>},
    {"executorch_prim::gt.Scalar", kBinary, untyped<compare<Greater>>},
    {"executorch_prim::lt.Scalar", kBinary, untyped<compare<Less>>},
    {"executorch_prim::ge.Scalar", kBinary, untyped<compare<GreaterOrEqual>>},
    {"executorch_prim::le.Scalar", kBinary, untyped<compare<LessOrEqual>>},
    {"executorch_prim::neg.Scalar", kUnary, untyped<negate>},
    {"executorch_prim::sym_float.Scalar", kUnary, untyped<to_float>},
    {"executorch_prim::sym_int.Scalar", kUnary, untyped<to_int>},
    {"executorch_prim::ceil.Scalar", kUnary, untyped<round_to_int<ceiling>>},
    {"executorch_prim::trunc.Scalar", kUnary, untyped<round_to_int<truncation>>},
    {"executorch_prim::round.Scalar", kUnary, untyped<round_to_int<half_to_even>>},
    {"executorch_prim::sym_max.Scalar", kBinary, untyped<sym_max>},
    {"executorch_prim::sym_min.Scalar", kBinary, untyped<sym_min>},
    {"executorch_prim::sym_not.Scalar", kUnary, untyped<sym_not>},
    {"executorch_prim::sym_ite.Scalar", "Scalar condition, Scalar a, Scalar b -> slot out", untyped<sym_ite>},
    {"executorch_prim::et_view.default", "Tensor self, int[] size -> view out", untyped<et_view>, nullptr, -1, true},
    {"executorch_prim::et_copy_index.tensor", "Tensor copy_to, Tensor copy_from, int index -> Tensor(copy_to)",
     untyped<et_copy_index>},
    {"berth::row.read", "Tensor rows, int index -> view out", untyped<row_read>, nullptr, -1, true},
    {"berth::row.write", "Tensor rows, int index -> Tensor(rows), row out", untyped<row_write>, nullptr, -1, true},
};

}  // namespace

KernelTable prim_kernels() { return kPrimKernels; }

}  // namespace berth
