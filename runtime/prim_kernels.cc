#include "runtime/prim_kernels.h"

#include <cmath>
#include <cstring>

#include "base/half.h"
#include "base/math.h"
#include "base/result.h"

namespace berth {
namespace {

using Args = Span<EValue* const>;

void set_result(Args args, EValue value) { *args[args.size() - 1] = value; }

Error wrong_kind(KernelContext& context) {
  return context.fail(Error::kInvalidType, "an argument is of a kind that this operator does not take");
}

// Whether `x` has an integer part that int64_t holds.
bool fits_integer(double x) { return x >= -9223372036854775808.0 && x < 9223372036854775808.0; }

Error set_integer_of(KernelContext& context, Args args, double x) {
  if (!fits_integer(x)) return context.fail(Error::kInvalidArgument, "the number has no 64-bit integer");
  set_result(args, EValue(static_cast<int64_t>(x)));
  return Error::kOk;
}

// Integers as unsigned, so that overflow wraps.
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
bool both_int(Args args) { return args[0]->is_int() && args[1]->is_int(); }
bool both_numbers(Args args) { return is_number(*args[0]) && is_number(*args[1]); }

template <int64_t (*on_ints)(int64_t, int64_t), double (*on_doubles)(double, double)>
Error arithmetic(KernelContext& context, Args args) {
  if (both_int(args)) {
    set_result(args, EValue(on_ints(args[0]->integer(), args[1]->integer())));
  } else if (both_numbers(args)) {
    set_result(args, EValue(on_doubles(args[0]->scalar_to<double>(), args[1]->scalar_to<double>())));
  } else {
    return wrong_kind(context);
  }
  return Error::kOk;
}

double add_doubles(double a, double b) { return a + b; }
double sub_doubles(double a, double b) { return a - b; }
double mul_doubles(double a, double b) { return a * b; }

Error truediv(KernelContext& context, Args args) {
  if (!both_numbers(args)) return wrong_kind(context);
  set_result(args, EValue(args[0]->scalar_to<double>() / args[1]->scalar_to<double>()));
  return Error::kOk;
}

// The two divisions that have no result: by zero, and of the smallest integer by -1.
Error check_divisor(KernelContext& context, int64_t a, int64_t b) {
  if (b == 0) return context.fail(Error::kInvalidArgument, "division by zero");
  if (b == -1 && a == INT64_MIN) return context.fail(Error::kInvalidArgument, "the quotient does not fit in 64 bits");
  return Error::kOk;
}

// Python's a // b for floating-point numbers: what a - a mod b leaves is divided, where mod has the divisor's sign.
double floor_quotient(double a, double b) {
  if (b == 0) return std::copysign(HUGE_VAL, a);
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

Error floordiv_scalar(KernelContext& context, Args args) {
  if (both_int(args)) {
    const int64_t a = args[0]->integer(), b = args[1]->integer();
    BERTH_RETURN_IF_ERROR(check_divisor(context, a, b));
    const int64_t floor = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
    set_result(args, EValue(floor));
    return Error::kOk;
  }
  if (!both_numbers(args)) return wrong_kind(context);
  set_result(args, EValue(floor_quotient(args[0]->scalar_to<double>(), args[1]->scalar_to<double>())));
  return Error::kOk;
}

Error floordiv_int(KernelContext& context, Args args) {
  if (!both_int(args)) return wrong_kind(context);
  BERTH_RETURN_IF_ERROR(check_divisor(context, args[0]->integer(), args[1]->integer()));
  set_result(args, EValue(args[0]->integer() / args[1]->integer()));
  return Error::kOk;
}

Error mod(KernelContext& context, Args args) {
  if (!both_int(args)) return wrong_kind(context);
  BERTH_RETURN_IF_ERROR(check_divisor(context, args[0]->integer(), args[1]->integer()));
  set_result(args, EValue(args[0]->integer() % args[1]->integer()));
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
Error compare(KernelContext& context, Args args) {
  if (both_int(args)) {
    set_result(args, EValue(Relation()(args[0]->integer(), args[1]->integer())));
  } else if (both_numbers(args)) {
    set_result(args, EValue(Relation()(args[0]->scalar_to<double>(), args[1]->scalar_to<double>())));
  } else if (args[0]->is_bool() && args[1]->is_bool()) {
    set_result(args, EValue(Relation()(static_cast<int>(args[0]->truth()), static_cast<int>(args[1]->truth()))));
  } else {
    return wrong_kind(context);
  }
  return Error::kOk;
}

Error negate(KernelContext& context, Args args) {
  if (!is_number(*args[0])) return wrong_kind(context);
  set_result(args, args[0]->is_int() ? EValue(wrapping_sub(0, args[0]->integer())) : EValue(-args[0]->real()));
  return Error::kOk;
}

Error to_float(KernelContext& context, Args args) {
  if (!args[0]->is_scalar()) return wrong_kind(context);
  set_result(args, EValue(args[0]->scalar_to<double>()));
  return Error::kOk;
}

Error to_int(KernelContext& context, Args args) {
  if (!args[0]->is_scalar()) return wrong_kind(context);
  if (args[0]->is_double()) return set_integer_of(context, args, args[0]->real());
  set_result(args, EValue(args[0]->scalar_to<int64_t>()));
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
Error round_to_int(KernelContext& context, Args args) {
  if (!args[0]->is_double()) return wrong_kind(context);
  return set_integer_of(context, args, rounding(args[0]->real()));
}

Error sym_max(KernelContext& context, Args args) {
  if (!both_int(args)) return wrong_kind(context);
  set_result(args, *args[args[0]->integer() < args[1]->integer() ? 1 : 0]);
  return Error::kOk;
}

Error sym_min(KernelContext& context, Args args) {
  if (!both_int(args)) return wrong_kind(context);
  set_result(args, *args[args[1]->integer() < args[0]->integer() ? 1 : 0]);
  return Error::kOk;
}

Error sym_not(KernelContext& context, Args args) {
  if (!args[0]->is_bool()) return wrong_kind(context);
  set_result(args, EValue(!args[0]->truth()));
  return Error::kOk;
}

Error sym_ite(KernelContext& context, Args args) {
  if (!args[0]->is_bool() || !args[1]->is_scalar() || !args[2]->is_scalar()) return wrong_kind(context);
  set_result(args, *args[args[0]->truth() ? 1 : 2]);
  return Error::kOk;
}

Error sym_size(KernelContext& context, Args args) {
  if (!args[0]->is_tensor() || !args[1]->is_int()) return wrong_kind(context);
  const Tensor& self = args[0]->tensor();
  const int64_t rank = self.rank();
  int64_t dim = args[1]->integer();
  if (dim < -rank || dim >= rank) return context.fail(Error::kInvalidArgument, "the tensor has no such dimension");
  if (dim < 0) dim += rank;
  set_result(args, EValue(self.size(static_cast<int>(dim))));
  return Error::kOk;
}

Error sym_numel(KernelContext& context, Args args) {
  if (!args[0]->is_tensor()) return wrong_kind(context);
  set_result(args, EValue(args[0]->tensor().numel()));
  return Error::kOk;
}

template <typename T>
T first_element(const Tensor& tensor) {
  T element;
  std::memcpy(&element, tensor.raw(), sizeof(T));
  return element;
}

Error local_scalar_dense(KernelContext& context, Args args) {
  if (!args[0]->is_tensor()) return wrong_kind(context);
  const Tensor& self = args[0]->tensor();
  if (self.numel() < 1 || self.raw() == nullptr) {
    return context.fail(Error::kInvalidArgument, "the tensor has no element to read");
  }
  switch (self.dtype()) {
    case DType::kU8: set_result(args, EValue(int64_t{first_element<uint8_t>(self)})); break;
    case DType::kI8: set_result(args, EValue(int64_t{first_element<int8_t>(self)})); break;
    case DType::kI16: set_result(args, EValue(int64_t{first_element<int16_t>(self)})); break;
    case DType::kI32: set_result(args, EValue(int64_t{first_element<int32_t>(self)})); break;
    case DType::kI64: set_result(args, EValue(first_element<int64_t>(self))); break;
    case DType::kU16: set_result(args, EValue(int64_t{first_element<uint16_t>(self)})); break;
    case DType::kU32: set_result(args, EValue(int64_t{first_element<uint32_t>(self)})); break;
    case DType::kBool: set_result(args, EValue(first_element<uint8_t>(self) != 0)); break;
    case DType::kF16: set_result(args, EValue(double{static_cast<float>(first_element<Half>(self))})); break;
    case DType::kBF16: set_result(args, EValue(double{static_cast<float>(first_element<BFloat16>(self))})); break;
    case DType::kF32: set_result(args, EValue(double{first_element<float>(self)})); break;
    case DType::kF64: set_result(args, EValue(first_element<double>(self))); break;
    default: return context.fail(Error::kInvalidType, "a tensor of this element type gives no number");
  }
  return Error::kOk;
}

// The sizes that `list` asks of a view of `numel` elements, -1 replaced.
Error view_sizes(KernelContext& context, Span<EValue* const> list, int64_t numel, int32_t (&sizes)[kMaxRank]) {
  int64_t known = 1;
  int inferred = -1;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i]->is_int()) return wrong_kind(context);
    const int64_t size = list[i]->integer();
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
      return context.fail(Error::kInvalidArgument, "the view's open size does not follow from the others");
    }
    sizes[inferred] = static_cast<int32_t>(numel / known);
    known = numel;
  }
  if (known != numel) return context.fail(Error::kInvalidArgument, "a view keeps the number of elements");
  return Error::kOk;
}

Error et_view(KernelContext& context, Args args) {
  if (!args[0]->is_tensor() || args[1]->tag() != Tag::kIntList || !args[2]->is_tensor()) return wrong_kind(context);
  const Tensor& self = args[0]->tensor();
  Tensor& out = args[2]->tensor();
  const Span<EValue* const> list = args[1]->items();
  if (self.dtype() != out.dtype()) return context.fail(Error::kInvalidArgument, "a view keeps the element type");
  if (self.device() != out.device()) return context.fail(Error::kInvalidArgument, "a view stays on its device");
  if (list.size() != static_cast<size_t>(out.rank())) {
    return context.fail(Error::kInvalidArgument, "the view's sizes are not as many as its output's dimensions");
  }
  int32_t sizes[kMaxRank];
  BERTH_RETURN_IF_ERROR(view_sizes(context, list, self.numel(), sizes));
  if (out.resize({sizes, list.size()}) != Error::kOk) {
    return context.fail(Error::kInvalidArgument, "the view is larger than its output may become");
  }
  out.set_data(self.raw());
  return Error::kOk;
}

Error et_copy_index(KernelContext& context, Args args) {
  if (!args[0]->is_tensor() || !args[1]->is_tensor() || !args[2]->is_int()) return wrong_kind(context);
  Tensor& to = args[0]->tensor();
  const Tensor& from = args[1]->tensor();
  const int64_t index = args[2]->integer();
  bool fits = to.dtype() == from.dtype() && to.rank() == from.rank() + 1 && index >= 0 && index < INT32_MAX;
  int32_t sizes[kMaxRank];
  for (int i = 0; fits && i < from.rank(); ++i) {
    sizes[i + 1] = static_cast<int32_t>(from.size(i));
    fits = to.size(i + 1) == from.size(i);
  }
  if (!fits) return context.fail(Error::kInvalidArgument, "the part does not fit into a row of the stack");
  sizes[0] = static_cast<int32_t>(index + 1);
  if (to.resize({sizes, static_cast<size_t>(to.rank())}) != Error::kOk) {
    return context.fail(Error::kInvalidArgument, "the stack is larger than its output may become");
  }
  const size_t bytes = from.nbytes();
  if (bytes == 0) return Error::kOk;
  if (to.raw() == nullptr || from.raw() == nullptr) {
    return context.fail(Error::kInvalidState, "a tensor of the stack has no memory");
  }
  std::memmove(to.data<uint8_t>() + static_cast<size_t>(index) * bytes, from.raw(), bytes);
  return Error::kOk;
}

constexpr char kUnary[] = "Scalar a -> slot out";
constexpr char kBinary[] = "Scalar a, Scalar b -> slot out";

constexpr KernelEntry kPrimKernels[] = {
    {"aten::sym_size.int", "Tensor self, int dim -> slot out", sym_size, nullptr, -1, true},
    {"aten::sym_numel", "Tensor self -> slot out", sym_numel, nullptr, -1, true},
    {"aten::_local_scalar_dense", "Tensor self -> slot out", local_scalar_dense},
    {"executorch_prim::add.Scalar", kBinary, arithmetic<wrapping_add, add_doubles>},
    {"executorch_prim::sub.Scalar", kBinary, arithmetic<wrapping_sub, sub_doubles>},
    {"executorch_prim::mul.Scalar", kBinary, arithmetic<wrapping_mul, mul_doubles>},
    {"executorch_prim::floordiv.Scalar", kBinary, floordiv_scalar},
    {"executorch_prim::floordiv.int", kBinary, floordiv_int},
    {"executorch_prim::truediv.Scalar", kBinary, truediv},
    {"executorch_prim::mod.Scalar", kBinary, mod},
    {"executorch_prim::mod.int", kBinary, mod},
    {"executorch_prim::eq.Scalar", kBinary, compare<Equal>},
    {"executorch_prim::gt.Scalar", kBinary, compare<Greater>},
    {"executorch_prim::lt.Scalar", kBinary, compare<Less>},
    {"executorch_prim::ge.Scalar", kBinary, compare<GreaterOrEqual>},
    {"executorch_prim::le.Scalar", kBinary, compare<LessOrEqual>},
    {"executorch_prim::neg.Scalar", kUnary, negate},
    {"executorch_prim::sym_float.Scalar", kUnary, to_float},
    {"executorch_prim::sym_int.Scalar", kUnary, to_int},
    {"executorch_prim::ceil.Scalar", kUnary, round_to_int<ceiling>},
    {"executorch_prim::trunc.Scalar", kUnary, round_to_int<truncation>},
    {"executorch_prim::round.Scalar", kUnary, round_to_int<half_to_even>},
    {"executorch_prim::sym_max.Scalar", kBinary, sym_max},
    {"executorch_prim::sym_min.Scalar", kBinary, sym_min},
    {"executorch_prim::sym_not.Scalar", kUnary, sym_not},
    {"executorch_prim::sym_ite.Scalar", "Scalar condition, Scalar a, Scalar b -> slot out", sym_ite},
    {"executorch_prim::et_view.default", "Tensor self, int[] size -> view out", et_view, nullptr, -1, true},
    {"executorch_prim::et_copy_index.tensor", "Tensor copy_to, Tensor copy_from, int index -> Tensor(copy_to)",
     et_copy_index},
};

}  // namespace

KernelTable prim_kernels() { return kPrimKernels; }

}  // namespace berth
