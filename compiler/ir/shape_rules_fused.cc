// Shape rules of fused operators: those of what they are made of, and the checks on what holds them together.
#include <algorithm>

#include "compiler/ir/fused_checks.h"
#include "compiler/ir/shape_rules.h"
#include "format/arguments.h"
#include "format/elementwise_code.h"

namespace berth::ir {
namespace {

Status expect_weight(const ShapeArgs& args, const TensorType& type) {
  if (type.dtype == DType::kF32 || has_16_bits(type.dtype)) return Done{};
  return args.fail(Error::kInvalidType, "expected a weight of f32, bf16 or f16, found " + args.text(type));
}

// The weight at argument `i` as it is without its packing, of f32.
Expected<TensorType> dense_weight(const ShapeArgs& args, size_t i, size_t packing) {
  TensorType weight = args.tensor(i);
  const std::string& text = text_of(args, packing);
  BERTH_TRY(expect_weight(args, weight));
  weight.dtype = DType::kF32;
  if (text.empty()) return weight;
  BERTH_TRY(args.expect_rank(weight, 1, 1, "a packed weight"));
  BERTH_ASSIGN_OR_RETURN(weight.shape, packed_shape(args, text));
  weight.dim_order.clear();
  return weight;
}

// What is multiplied with a weight of bf16 may be bf16 itself.
Status expect_input(const ShapeArgs& args, const TensorType& input, const TensorType& weight) {
  if (input.dtype == DType::kBF16 && weight.dtype == DType::kBF16) return Done{};
  return expect_f32(args, input);
}

// The type at argument `i`, of the result: bf16 where a weight of bf16 is multiplied.
Expected<DType> result_type(const ShapeArgs& args, size_t i, size_t weight) {
  BERTH_ASSIGN_OR_RETURN(const DType type, args.dtype(i, DType::kF32));
  if (type == DType::kF32) return type;
  if (type == DType::kBF16 && args.tensor(weight).dtype == DType::kBF16) return type;
  return args.fail(Error::kInvalidType, "expected a result of f32, or of bf16 where the weight is bf16, found " +
                                            std::string(to_string(type)));
}

// Where a fused convolution has its weight, bias and packing.
struct ConvPlaces {
  size_t weight, bias, packing;
};

// The result of aten::convolution, which has no residual and wants to see the dense weight, with `lists`: what follows
// its bias.
Expected<Types> convolve(const ShapeQuery& query, const ShapeArgs& args, const TensorType& input,
                         const ConvPlaces& places, const std::vector<Argument>& lists) {
  BERTH_ASSIGN_OR_RETURN(const TensorType weight, dense_weight(args, places.weight, places.packing));
  Method method;
  const ValueId dense = method.add_value(weight, "weight");
  const ValueId data = method.add_value(input, "input");
  std::vector<Argument> inner = {data, dense, None{}};
  if (const TensorType* bias = args.optional_tensor(places.bias)) inner[2] = method.add_value(*bias, "bias");
  inner.insert(inner.end(), lists.begin(), lists.end());
  return infer_convolution(ShapeQuery{query.module, method, operator_of(OpId::convolution_out), inner});
}

// The same for a convolution of single pixels, which `name` says.
Expected<TensorType> convolve_pixels(const ShapeQuery& query, const ShapeArgs& args, const TensorType& input,
                                     const ConvPlaces& places, const char* name) {
  BERTH_ASSIGN_OR_RETURN(const TensorType weight, dense_weight(args, places.weight, places.packing));
  if (weight.rank() != 4 || weight.shape[2] != Dim(1) || weight.shape[3] != Dim(1)) {
    return args.fail(std::string("expected a weight of single pixels that ") + name + ", found " + args.text(weight));
  }
  const DimList one = {Dim(1), Dim(1)}, zero = {Dim(0), Dim(0)};
  BERTH_ASSIGN_OR_RETURN(Types types, convolve(query, args, input, places, {one, zero, one, false, zero, Dim(1)}));
  return std::get<TensorType>(types[0]);
}

}  // namespace

Expected<Types> infer_fused_conv(const ShapeQuery& query) {
  namespace at = arg::fused_conv_out;
  const ShapeArgs args(query);
  TensorType input = args.tensor(at::input);
  BERTH_TRY(expect_input(args, input, args.tensor(at::weight)));
  input.dtype = DType::kF32;
  BERTH_TRY(expect_activation(args, at::activation));
  BERTH_ASSIGN_OR_RETURN(Types types, convolve(query, args, input, {at::weight, at::bias, at::packing},
                                               {query.args.begin() + at::stride, query.args.begin() + at::activation}));
  TensorType& out = std::get<TensorType>(types[0]);
  BERTH_TRY(expect_residual(args, at::residual, out.shape));
  BERTH_ASSIGN_OR_RETURN(out.dtype, result_type(args, at::dtype, at::weight));
  out.dim_order = input.dim_order;
  return types;
}

Expected<Types> infer_inverted_residual(const ShapeQuery& query) {
  namespace at = arg::inverted_residual_out;
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(at::input);
  BERTH_TRY(expect_f32(args, input));
  BERTH_TRY(args.expect_rank(input, 4, 4, "an input"));
  for (const size_t i : {size_t{at::expand_activation}, size_t{at::activation}, size_t{at::project_activation}}) {
    BERTH_TRY(expect_activation(args, i));
  }
  TensorType image = input;
  if (args.optional_tensor(at::expand_weight) != nullptr) {
    BERTH_ASSIGN_OR_RETURN(
        image, convolve_pixels(query, args, image, {at::expand_weight, at::expand_bias, at::expand_packing}, "expand"));
  } else if (args.optional_tensor(at::expand_bias) != nullptr) {
    return args.fail("a bias of what is expanded, and no weight");
  }
  BERTH_ASSIGN_OR_RETURN(const TensorType windows, dense_weight(args, at::weight, at::packing));
  if (windows.rank() != 4 || windows.shape[0] != image.shape[1] || windows.shape[1] != Dim(1)) {
    return args.fail("expected windows of single channels of " + args.text(image) + ", found " + args.text(windows));
  }
  BERTH_ASSIGN_OR_RETURN(Types types,
                         convolve(query, args, image, {at::weight, at::bias, at::packing},
                                  {query.args[at::stride], query.args[at::padding], query.args[at::dilation], false,
                                   DimList{Dim(0), Dim(0)}, windows.shape[0]}));
  TensorType& out = std::get<TensorType>(types[0]);
  if (args.optional_tensor(at::project_weight) != nullptr) {
    BERTH_ASSIGN_OR_RETURN(
        out, convolve_pixels(query, args, out, {at::project_weight, at::project_bias, at::project_packing}, "project"));
  } else if (args.optional_tensor(at::project_bias) != nullptr || args.optional_tensor(at::residual) != nullptr) {
    return args.fail("a bias or a residual of what is projected, and no weight");
  }
  BERTH_TRY(expect_residual(args, at::residual, out.shape));
  out.dim_order = input.dim_order;
  return types;
}

Expected<Types> infer_fused_linear(const ShapeQuery& query) {
  namespace at = arg::fused_linear_out;
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(at::input);
  BERTH_TRY(expect_input(args, input, args.tensor(at::weight)));
  BERTH_TRY(args.expect_rank(input, 1, kMaxRank, "an input"));
  BERTH_TRY(expect_activation(args, at::activation));
  BERTH_ASSIGN_OR_RETURN(const TensorType weight, dense_weight(args, at::weight, at::packing));
  BERTH_TRY(args.expect_rank(weight, 2, 2, "a weight"));
  BERTH_TRY(args.same_size(input.shape.back(), weight.shape[0], "inner sizes"));
  Shape shape = input.shape;
  shape.back() = weight.shape[1];
  if (const TensorType* bias = args.optional_tensor(at::bias)) {
    BERTH_TRY(expect_f32(args, *bias));
    BERTH_TRY(args.expect_rank(*bias, 1, 1, "a bias"));
    BERTH_TRY(args.same_size(bias->shape[0], shape.back(), "sizes of bias and columns"));
  }
  BERTH_TRY(expect_residual(args, at::residual, shape));
  BERTH_ASSIGN_OR_RETURN(const DType type, result_type(args, at::dtype, at::weight));
  return args.one(type, std::move(shape));
}

// With or without the bias that stands in front of the mask.
static Expected<Types> infer_attention(const ShapeQuery& query, bool biased) {
  const ShapeArgs args(query);
  const size_t numbers = biased ? 5 : 4;  // where they begin
  const TensorType& q = args.tensor(0);
  for (size_t i = 0; i < 3; ++i) {
    BERTH_TRY(expect_f32(args, args.tensor(i)));
    BERTH_TRY(args.expect_rank(args.tensor(i), 3, 3, "tokens"));
    BERTH_TRY(args.same_size(args.tensor(i).shape[0], q.shape[0], "batch sizes"));
  }
  BERTH_TRY(args.same_size(args.tensor(1).shape[1], args.tensor(2).shape[1], "numbers of keys and values"));
  BERTH_ASSIGN_OR_RETURN(const int64_t heads, args.integer(numbers));
  BERTH_ASSIGN_OR_RETURN(const int64_t head_size, args.integer(numbers + 1));
  if (heads < 1 || head_size < 1 || heads > kMaxSize || head_size > kMaxSize / heads) {
    return args.fail("expected at least one head of at least one column");
  }
  const int64_t width = heads * head_size;
  for (size_t i = 0; i < 3; ++i) {
    BERTH_ASSIGN_OR_RETURN(const int64_t column, args.integer(numbers + 2 + i));
    const Dim columns = args.tensor(i).shape[2];
    if (columns.is_constant() && column >= 0 && column <= columns.value - width) continue;
    return args.fail("expected the heads' " + std::to_string(width) + " columns from column " + std::to_string(column) +
                     " on, found " + args.text(args.tensor(i)));
  }
  if (biased) BERTH_TRY(expect_f32(args, args.tensor(3)));
  for (size_t i = 3; i < numbers; ++i) {
    const TensorType* mask = args.optional_tensor(i);
    if (mask == nullptr) continue;
    if (mask->dtype != DType::kF32 && mask->dtype != DType::kBool) {
      return args.fail(Error::kInvalidType, "expected a mask of f32 or bool, found " + args.text(*mask));
    }
    const Shape scores = {q.shape[0], Dim(heads), q.shape[1], args.tensor(1).shape[1]};
    BERTH_ASSIGN_OR_RETURN(const Shape shape, args.broadcast(scores, mask->shape));
    if (shape != scores) return args.fail("expected a mask that stretches to the scores, found " + args.text(*mask));
  }
  return args.one(DType::kF32, {q.shape[0], q.shape[1], Dim(width)});
}

Expected<Types> infer_fused_attention(const ShapeQuery& query) { return infer_attention(query, false); }

Expected<Types> infer_fused_attention_biased(const ShapeQuery& query) { return infer_attention(query, true); }

// `heads` and `keys` are the dimensions of keys and values.
static Expected<Types> infer_grouped(const ShapeQuery& query, size_t heads, size_t keys) {
  const ShapeArgs args(query);
  const TensorType& q = args.tensor(0);
  const TensorType& k = args.tensor(1);
  const TensorType& v = args.tensor(2);
  BERTH_TRY(expect_f32(args, q));
  const bool known = k.dtype == DType::kF32 || has_16_bits(k.dtype);
  if (k.dtype != v.dtype || !known) {
    return args.fail(Error::kInvalidType,
                     "expected keys and values of f32, bf16 or f16, found " + args.text(k) + " and " + args.text(v));
  }
  for (size_t i = 0; i < 3; ++i) {
    BERTH_TRY(args.expect_rank(args.tensor(i), 4, 4, "heads of rows"));
    BERTH_TRY(args.same_size(args.tensor(i).shape[0], q.shape[0], "batch sizes"));
  }
  BERTH_TRY(args.same_size(k.shape[heads], v.shape[heads], "heads of keys and values"));
  BERTH_TRY(args.same_size(k.shape[keys], v.shape[keys], "numbers of keys and values"));
  BERTH_TRY(args.same_size(k.shape[3], q.shape[3], "sizes of keys and queries"));
  const bool groups = q.shape[1].is_constant() && k.shape[heads].is_constant() && k.shape[heads].value >= 1 &&
                      q.shape[1].value >= 1 && q.shape[1].value % k.shape[heads].value == 0;
  if (!groups) {
    return args.fail("expected as many heads of queries for each head of keys, found " + args.text(q) + " and " +
                     args.text(k));
  }
  if (const TensorType* mask = args.optional_tensor(3)) {
    if (mask->dtype != DType::kF32 && mask->dtype != DType::kBool) {
      return args.fail(Error::kInvalidType, "expected a mask of f32 or bool, found " + args.text(*mask));
    }
    const Shape scores = {q.shape[0], q.shape[1], q.shape[2], k.shape[keys]};
    BERTH_ASSIGN_OR_RETURN(const Shape shape, args.broadcast(scores, mask->shape));
    if (shape != scores) return args.fail("expected a mask that stretches to the scores, found " + args.text(*mask));
  }
  for (const size_t i : {size_t{4}, size_t{5}}) {
    const TensorType* limit = args.optional_tensor(i);
    if (limit == nullptr) continue;
    if (limit->dtype != DType::kI64 || limit->shape != Shape{q.shape[2]}) {
      return args.fail(Error::kInvalidType, "expected an i64 for each query, found " + args.text(*limit));
    }
  }
  return args.one(DType::kF32, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]});
}

Expected<Types> infer_grouped_attention(const ShapeQuery& query) { return infer_grouped(query, 1, 2); }

Expected<Types> infer_grouped_attention_rows(const ShapeQuery& query) { return infer_grouped(query, 2, 1); }

Expected<Types> infer_fused_elementwise(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const std::vector<const TensorType*> inputs = args.tensors(0);
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> code, args.integers(1));
  const size_t constants = std::get<FloatList>(args.argument(2)).size();
  const char* problem = elementwise::problem(inputs.size(), constants, Span<const int64_t>(code.data(), code.size()));
  if (problem != nullptr) return args.fail(problem);
  Shape shape;
  for (const TensorType* input : inputs) {
    if (!elementwise::is_input_type(input->dtype)) {
      return args.fail(Error::kInvalidType, "expected u8, i8, i32, f16, bf16 or f32, found " + args.text(*input));
    }
    BERTH_ASSIGN_OR_RETURN(shape, args.broadcast(shape, input->shape));
  }
  // An input that is stretched says nothing of the order.
  std::vector<const TensorType*> whole;
  for (const TensorType* input : inputs) {
    if (input->shape == shape) whole.push_back(input);
  }
  const DType result = elementwise::result_type(static_cast<elementwise::Op>(code[code.size() - 4]));
  return Types{args.elementwise(result, shape, whole)};
}

Expected<Types> infer_fused_gru(const ShapeQuery& query) {
  namespace at = arg::fused_gru_out;
  const ShapeArgs args(query);
  const TensorType& gates = args.tensor(at::gates);
  const TensorType& hidden = args.tensor(at::hidden);
  const TensorType& weight = args.tensor(at::weight);
  const TensorType* bias = args.optional_tensor(at::bias);
  for (const TensorType* type : {&gates, &hidden, &weight}) BERTH_TRY(expect_f32(args, *type));
  BERTH_TRY(args.expect_rank(gates, 3, 3, "steps"));
  BERTH_TRY(args.expect_rank(hidden, 2, 2, "rows"));
  BERTH_TRY(args.expect_rank(weight, 4, 4, "a weight"));
  BERTH_TRY(args.same_size(hidden.shape[0], gates.shape[1], "batch sizes"));
  BERTH_TRY(args.same_size(weight.shape[1], hidden.shape[1], "rows of the weight and size of the hidden state"));
  BERTH_TRY(args.same_size(weight.shape[2], Dim(3), "gates of the weight"));
  const Dim three = args.symbols.mul(hidden.shape[1], Dim(3));
  BERTH_TRY(args.same_size(gates.shape[2], three, "columns of the gates and of three gates"));
  if (bias != nullptr) {
    BERTH_TRY(expect_f32(args, *bias));
    BERTH_TRY(args.expect_rank(*bias, 1, 1, "a bias"));
    BERTH_TRY(args.same_size(bias->shape[0], three, "sizes of the bias and of three gates"));
  }
  const Dim units = args.symbols.mul(weight.shape[0], weight.shape[3]);
  if (!units.is_constant() || !hidden.shape[1].is_constant() || units.value < hidden.shape[1].value) {
    return args.fail("expected blocks of all " + args.text(hidden.shape[1]) + " units, found " + args.text(weight));
  }
  return args.one(DType::kF32, {gates.shape[0], hidden.shape[0], hidden.shape[1]});
}

Expected<Types> infer_fused_rms_norm(const ShapeQuery& query) {
  namespace at = arg::fused_rms_norm_out;
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(at::input);
  BERTH_TRY(expect_f32(args, input));
  if (input.shape.empty()) return args.fail("expected rows, found " + args.text(input));
  if (const TensorType* weight = args.optional_tensor(at::weight)) {
    BERTH_TRY(expect_f32(args, *weight));
    BERTH_TRY(args.expect_rank(*weight, 1, 1, "a weight"));
    BERTH_TRY(args.same_size(weight->shape[0], input.shape.back(), "sizes of the weight and of a row"));
  }
  return Types{args.type(DType::kF32, input.shape)};
}

Expected<Types> infer_fused_lstm_cell(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& gates = args.tensor(0);
  const TensorType& hidden = args.tensor(1);
  for (size_t i = 0; i < 3; ++i) {
    BERTH_TRY(expect_f32(args, args.tensor(i)));
    BERTH_TRY(args.expect_rank(args.tensor(i), 2, 2, "rows"));
    BERTH_TRY(args.same_size(args.tensor(i).shape[0], gates.shape[0], "batch sizes"));
  }
  BERTH_TRY(args.same_size(args.tensor(2).shape[1], hidden.shape[1], "sizes of the hidden and the cell state"));
  BERTH_TRY(expect_f32(args, args.tensor(3)));
  BERTH_ASSIGN_OR_RETURN(const TensorType weight, dense_weight(args, 3, 4));
  BERTH_TRY(args.expect_rank(weight, 2, 2, "a weight"));
  BERTH_TRY(args.same_size(weight.shape[0], hidden.shape[1], "rows of the weight and size of the hidden state"));
  const Dim four = args.symbols.mul(hidden.shape[1], Dim(4));
  BERTH_TRY(args.same_size(weight.shape[1], four, "columns of the weight and of four gates"));
  BERTH_TRY(args.same_size(gates.shape[1], four, "columns of the gates and of four gates"));
  return Types{args.type(DType::kF32, hidden.shape), args.type(DType::kF32, hidden.shape)};
}

Expected<Types> infer_fused_lstm_gates(const ShapeQuery& query) {
  namespace at = arg::fused_lstm_gates_out;
  const ShapeArgs args(query);
  const TensorType &gates = args.tensor(at::gates), &cell = args.tensor(at::cell);
  for (const TensorType* type : {&gates, &cell}) {
    BERTH_TRY(expect_f32(args, *type));
    BERTH_TRY(args.expect_rank(*type, 2, 2, "rows"));
  }
  BERTH_TRY(args.same_size(gates.shape[0], cell.shape[0], "batch sizes"));
  BERTH_TRY(args.same_size(gates.shape[1], args.symbols.mul(cell.shape[1], Dim(4)),
                           "columns of the gates and of four cell states"));
  BERTH_ASSIGN_OR_RETURN(std::vector<int64_t> order, args.integers(at::order));
  std::sort(order.begin(), order.end());
  if (order != std::vector<int64_t>{0, 1, 2, 3}) return args.fail("expected an order of four gates");
  return Types{args.type(DType::kF32, cell.shape), args.type(DType::kF32, cell.shape)};
}

Expected<Types> infer_fused_lstm(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& gates = args.tensor(0);
  const TensorType& hidden = args.tensor(1);
  const TensorType& weight = args.tensor(3);
  for (size_t i = 0; i < 4; ++i) BERTH_TRY(expect_f32(args, args.tensor(i)));
  BERTH_TRY(args.expect_rank(gates, 3, 3, "steps"));
  BERTH_TRY(args.expect_rank(weight, 4, 4, "a weight"));
  for (size_t i = 1; i < 3; ++i) {
    BERTH_TRY(args.expect_rank(args.tensor(i), 2, 2, "rows"));
    BERTH_TRY(args.same_size(args.tensor(i).shape[0], gates.shape[1], "batch sizes"));
  }
  BERTH_TRY(args.same_size(args.tensor(2).shape[1], hidden.shape[1], "sizes of the hidden and the cell state"));
  BERTH_TRY(args.same_size(weight.shape[1], hidden.shape[1], "rows of the weight and size of the hidden state"));
  BERTH_TRY(args.same_size(weight.shape[2], Dim(4), "gates of the weight"));
  const Dim four = args.symbols.mul(hidden.shape[1], Dim(4));
  BERTH_TRY(args.same_size(gates.shape[2], four, "columns of the gates and of four gates"));
  const Dim units = args.symbols.mul(weight.shape[0], weight.shape[3]);
  if (!units.is_constant() || !hidden.shape[1].is_constant() || units.value < hidden.shape[1].value) {
    return args.fail("expected blocks of all " + args.text(hidden.shape[1]) + " units, found " + args.text(weight));
  }
  const Shape all = {gates.shape[0], hidden.shape[0], hidden.shape[1]};
  return Types{args.type(DType::kF32, all), args.type(DType::kF32, hidden.shape)};
}

Expected<Types> infer_fused_shuffle(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const std::vector<const TensorType*> parts = args.tensors(0);
  BERTH_ASSIGN_OR_RETURN(const int64_t groups, args.integer(1));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, args.integers(2));
  if (parts.empty()) return args.fail("expected at least one image");
  Dim channels(0);
  for (const TensorType* part : parts) {
    BERTH_TRY(expect_f32(args, *part));
    BERTH_TRY(args.expect_rank(*part, 4, 4, "an image"));
    for (const size_t d : {0u, 2u, 3u}) {
      BERTH_TRY(args.same_size(part->shape[d], parts[0]->shape[d], "sizes of the images"));
    }
    channels = args.symbols.add(channels, part->shape[1]);
  }
  if (!channels.is_constant() || groups < 1 || channels.value % groups != 0) {
    return args.fail("expected groups of equally many channels, found " + args.text(channels) + " channels in " +
                     std::to_string(groups) + " groups");
  }
  Types types;
  int64_t left = channels.value;
  for (const int64_t size : sizes) {
    if (size < 0 || size > left) return args.fail("expected sizes of " + args.text(channels) + " channels in all");
    left -= size;
    TensorType type = args.type(DType::kF32, {parts[0]->shape[0], Dim(size), parts[0]->shape[2], parts[0]->shape[3]});
    type.dim_order = parts[0]->dim_order;
    types.emplace_back(std::move(type));
  }
  if (left != 0) return args.fail("expected sizes of " + args.text(channels) + " channels in all");
  return types;
}

Expected<Types> infer_fused_narrow_linear(const ShapeQuery& query) {
  namespace at = arg::fused_narrow_linear_out;
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(at::input);
  const TensorType& weight = args.tensor(at::weight);
  const TensorType& scales = args.tensor(at::scales);
  const TensorType* zeros = args.optional_tensor(at::zero_points);
  BERTH_TRY(expect_f32(args, input));
  BERTH_TRY(args.expect_rank(input, 1, kMaxRank, "an input"));
  BERTH_TRY(expect_activation(args, at::activation));
  BERTH_ASSIGN_OR_RETURN(const int64_t bits, args.integer(at::bits));
  BERTH_ASSIGN_OR_RETURN(const int64_t block, args.integer(at::block));
  if ((bits != 4 && bits != 8) || block < 1) {
    return args.fail("expected 4 or 8 bits and a block of at least one element, found " + std::to_string(bits) +
                     " bits and " + std::to_string(block));
  }
  if (weight.dtype != (bits == 8 ? DType::kI8 : DType::kU8)) {
    return args.fail(Error::kInvalidType, "expected i8 for 8 bits and u8 for 4, found " + args.text(weight));
  }
  const std::string& packing = text_of(args, at::packing);
  if (packing.empty() || scales.dtype != DType::kF16) BERTH_TRY(expect_f32(args, scales));
  if (zeros != nullptr && zeros->dtype != DType::kI8 && zeros->dtype != DType::kF32) {
    return args.fail(Error::kInvalidType, "expected zero points of i8 or f32, found " + args.text(*zeros));
  }
  const Dim depth = input.shape.back();
  Dim columns;
  if (packing.empty()) {
    BERTH_TRY(args.expect_rank(weight, 2, 2, "a weight"));
    const Dim rows = bits == 8 || !depth.is_constant() ? depth : Dim((depth.value + 1) / 2);
    if (depth.is_constant()) BERTH_TRY(args.same_size(weight.shape[0], rows, "rows of the weight and of its elements"));
    columns = weight.shape[1];
    BERTH_TRY(args.expect_rank(scales, 2, 2, "scales"));
    if (zeros != nullptr) BERTH_TRY(args.expect_rank(*zeros, 2, 2, "zero points"));
  } else {
    BERTH_TRY(args.expect_rank(weight, 1, 1, "a packed weight"));
    BERTH_ASSIGN_OR_RETURN(const Shape dense, packed_shape(args, packing));
    if (dense.size() != 2) return args.fail("expected a packed matrix, found '" + packing + "'");
    BERTH_TRY(args.same_size(depth, dense[0], "inner sizes"));
    columns = dense[1];
  }
  Shape shape = input.shape;
  shape.back() = columns;
  if (const TensorType* bias = args.optional_tensor(at::bias)) {
    BERTH_TRY(expect_f32(args, *bias));
    BERTH_TRY(args.expect_rank(*bias, 1, 1, "a bias"));
    BERTH_TRY(args.same_size(bias->shape[0], columns, "sizes of bias and columns"));
  }
  BERTH_TRY(expect_residual(args, at::residual, shape));
  return args.one(DType::kF32, std::move(shape));
}

Expected<Types> infer_weight_rows(const ShapeQuery& query) {
  namespace at = arg::weight_rows_out;
  const ShapeArgs args(query);
  const TensorType& weight = args.tensor(at::weight);
  const TensorType& indices = args.tensor(at::indices);
  if (indices.dtype != DType::kI64 && indices.dtype != DType::kI32) {
    return args.fail(Error::kInvalidType, "expected indices of i64 or i32, found " + args.text(indices));
  }
  BERTH_ASSIGN_OR_RETURN(const int64_t bits, args.integer(at::bits));
  const std::string& form = text_of(args, at::form);
  const std::string& packing = text_of(args, at::packing);
  const bool known = bits == 0 ? form.empty() : (bits == 4 || bits == 8) && (form == "i8" || form == "u8");
  const bool pairs = bits == 4 && form == "pairs";
  const bool halves = bits == 16 && form == "f32" && weight.dtype == DType::kF16;
  if (!known && !pairs && !halves) {
    return args.fail("expected 0 bits, 4 or 8 and a form of 'i8', 'u8' or 'pairs', or 16 of f16 and 'f32', found " +
                     std::to_string(bits) + " and '" + form + "'");
  }
  Shape dense = weight.shape;
  if (!packing.empty()) {
    BERTH_TRY(args.expect_rank(weight, 1, 1, "a packed weight"));
    BERTH_ASSIGN_OR_RETURN(dense, packed_shape(args, packing));
  } else if (bits != 0) {
    return args.fail("expected a packed weight for numbers of fewer bits than a byte has or as many");
  }
  if (dense.size() != 2) return args.fail("expected a weight of two dimensions, found " + args.text(dense));
  Dim width = dense[0];
  if (pairs && (!width.is_constant() || width.value % 2 != 0)) {
    return args.fail("expected an even number of rows, of which two are a byte, found " + args.text(dense));
  }
  if (pairs) width = Dim(width.value / 2);
  Shape shape = indices.shape;
  shape.push_back(width);
  const DType numbers = halves ? DType::kF32 : form == "i8" ? DType::kI8 : DType::kU8;
  return args.one(bits == 0 ? weight.dtype : numbers, std::move(shape));
}

}  // namespace berth::ir
