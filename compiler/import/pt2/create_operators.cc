// Tensors out of nothing.
#include <cmath>
#include <optional>

#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

DType type_of_number(const IrArgument& number) {
  if (std::holds_alternative<double>(number)) return DType::kF32;
  return std::holds_alternative<bool>(number) ? DType::kBool : DType::kI64;
}

ValueId filled(NodeContext& n, const DimList& size, const IrArgument& number, DType type) {
  return n.op(OpId::full_out, {size, number, number_of(type)});
}

/// `size` full of 'fill_value', of element type 'dtype' or of `type`; None: of the number's own.
void fill(NodeContext& n, const DimList& size, std::optional<DType> type) {
  const Argument* value = n.argument("fill_value");
  if (value != nullptr && value->kind == ArgumentKind::kTensor) {  // a number that only the data tell
    const ValueId number = n.tensor("fill_value");
    const DType own = n.dtype(number) == DType::kF64 ? DType::kF32 : n.dtype(number);
    return n.output(n.expand(n.cast(number, n.dtype("dtype", type.value_or(own))), size));
  }
  const IrArgument number = n.scalar("fill_value", Dim(0));
  n.output(filled(n, size, number, n.dtype("dtype", type.value_or(type_of_number(number)))));
}

void import_full(NodeContext& n) { fill(n, n.dims("size"), std::nullopt); }

// Memory that was never written is zero.
template <int number>
void import_filled(NodeContext& n) {
  n.output(filled(n, n.dims("size"), Dim(number), n.dtype("dtype", DType::kF32)));
}

template <int number>
void import_new(NodeContext& n) {
  n.output(filled(n, n.dims("size"), Dim(number), n.dtype("dtype", n.dtype(n.tensor("self")))));
}

void import_new_full(NodeContext& n) { fill(n, n.dims("size"), n.dtype(n.tensor("self"))); }

template <int number>
void import_like(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(n.op(OpId::full_like_out, {x, Dim(number), None(), number_of(n.dtype("dtype", n.dtype(x)))}));
}

void import_full_like(NodeContext& n) {
  const ValueId x = n.tensor("self");
  fill(n, n.shape(x), n.dtype(x));
}

void import_fill(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const Argument* value = n.argument("value");
  if (value != nullptr && value->kind == ArgumentKind::kTensor) {
    return n.output(n.expand(n.cast(n.tensor("value"), n.dtype(x)), n.shape(x)));
  }
  n.output(n.op(OpId::full_like_out, {x, n.scalar("value", Dim(0)), None(), number_of(n.dtype(x))}));
}

void import_arange(NodeContext& n) {
  const IrArgument start = n.scalar("start", Dim(0));
  const IrArgument end = n.scalar("end", Dim(0));
  const IrArgument step = n.scalar("step", Dim(1));
  bool real = false;
  for (const IrArgument& number : {start, end, step}) real = real || std::holds_alternative<double>(number);
  const DType type = n.dtype("dtype", real ? DType::kF32 : DType::kI64);
  n.output(n.op(OpId::arange_start_out, {start, end, step, number_of(type)}));
}

void import_scalar_tensor(NodeContext& n) {
  const IrArgument number = n.scalar("s", Dim(0));
  n.output(filled(n, {}, number, n.dtype("dtype", DType::kF32)));
}

void import_eye(NodeContext& n) {
  const Dim rows = n.dim("n", Dim(0));
  const Dim columns = n.dim("m", rows);
  const auto line = [&](Dim end) {
    return n.op(OpId::arange_start_out, {Dim(0), end, Dim(1), number_of(DType::kI64)});
  };
  const ValueId same = n.op(OpId::eq_Tensor_out, {n.view(line(rows), {rows, Dim(1)}), line(columns)});
  n.output(n.cast(same, n.dtype("dtype", DType::kF32)));
}

// Computed from both ends towards the middle, as PyTorch does, in double precision.
void import_linspace(NodeContext& n) {
  const double start = n.number("start", 0);
  const double end = n.number("end", 0);
  const int64_t steps = n.integer("steps", 100);
  constexpr int64_t kMaxSteps = 1 << 24;
  if (n.ok() && (steps < 0 || steps > kMaxSteps)) return n.unsupported("this many steps");
  std::vector<double> numbers;
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  for (int64_t i = 0; i < steps && n.ok(); ++i) {
    const bool early = i < steps / 2 || steps == 1;
    numbers.push_back(early ? start + step * static_cast<double>(i) : end - step * static_cast<double>(steps - 1 - i));
  }
  n.output(n.numbers(n.dtype("dtype", DType::kF32), numbers, 1, 0));
}

constexpr OperatorRow kCreateRows[] = {
    {"arange", import_arange},
    {"empty", import_filled<0>},
    {"empty_like", import_like<0>},
    {"empty_permuted", import_filled<0>},
    {"eye", import_eye},
    {"fill", import_fill},
    {"full", import_full},
    {"full_like", import_full_like},
    {"linspace", import_linspace},
    {"new_empty", import_new<0>},
    {"new_full", import_new_full},
    {"new_ones", import_new<1>},
    {"new_zeros", import_new<0>},
    {"ones", import_filled<1>},
    {"ones_like", import_like<1>},
    {"scalar_tensor", import_scalar_tensor},
    {"zeros", import_filled<0>},
    {"zeros_like", import_like<0>},
};

}  // namespace

OperatorTable create_operators() { return kCreateRows; }

}  // namespace berth::pt2
