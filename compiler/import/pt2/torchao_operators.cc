// torchao's affine quantisation: q = round(x / scale) + zero point, one scale and zero point for each block of
// elements. A tensor of sizes s in blocks of sizes b has those of a tensor of sizes s / b.
#include <cmath>

#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

/// A tensor in blocks: its dimensions, those that are cut as two each; what stands beside it has 1 for each of
/// `within`.
struct Blocks {
  std::vector<Dim> shape;
  std::vector<Dim> beside;
  DimList within;
  std::vector<Dim> counts;  // of blocks, a dimension each
};

Blocks blocks_of(NodeContext& n, ValueId x) {
  const DimList sizes = n.dims("block_size");
  const std::vector<Dim> shape = n.shape(x);
  Blocks made;
  if (n.ok() && sizes.size() != shape.size()) n.invalid("'block_size' must have a number for each dimension");
  if (!n.ok()) return made;
  const auto add = [&](Dim dim, bool within) {
    if (within) made.within.push_back(Dim(static_cast<int64_t>(made.shape.size())));
    made.shape.push_back(dim);
    made.beside.push_back(within ? Dim(1) : dim);
  };
  for (size_t d = 0; d < shape.size(); ++d) {
    const Dim block = sizes[d];
    if (block == Dim(1)) {
      made.counts.push_back(shape[d]);
      add(shape[d], false);
    } else if (block == shape[d]) {
      made.counts.emplace_back(1);
      add(shape[d], true);
    } else {
      const int64_t whole = n.fixed(shape[d], "a size in blocks");
      const int64_t size = n.fixed(block, "a block's size");
      if (n.ok() && (size < 1 || whole % size != 0)) n.invalid("blocks do not divide the tensor");
      if (!n.ok()) return made;
      made.counts.emplace_back(whole / size);
      add(Dim(whole / size), false);
      add(block, true);
    }
  }
  return made;
}

/// The smallest and largest number of `type`, or what the node says.
struct Range {
  double low, high;
};

Range range_of(NodeContext& n, DType type) {
  const bool is_signed = type == DType::kI8;
  if (n.ok() && type != DType::kI8 && type != DType::kU8) {
    n.unsupported(std::string("torchao's integers of ") + to_string(type) + "; those of i8 and u8 are supported");
  }
  const Range made = {n.number("quant_min", is_signed ? -128 : 0), n.number("quant_max", is_signed ? 127 : 255)};
  if (n.ok() && !(made.low < made.high)) n.invalid("'quant_min' must be below 'quant_max'");
  return made;
}

bool has_numbers(NodeContext& n, std::string_view name) {
  if (!n.has(name)) return false;
  for (const Dim& dim : n.shape(n.tensor(name))) {
    if (dim == Dim(0)) return false;
  }
  return true;
}

/// The tensor of that name, which stands beside one in blocks.
ValueId beside(NodeContext& n, std::string_view name, const Blocks& blocks, DType type) {
  return n.view(n.cast(n.tensor(name), type), blocks.beside);
}

void import_quantize_affine(NodeContext& n) {
  const ValueId x = n.tensor("input");
  const Blocks blocks = blocks_of(n, x);
  const DType type = n.dtype("output_dtype", DType::kI8);
  const Range range = range_of(n, type);
  const DType real = n.dtype(n.tensor("scale"));
  const ValueId inverse = n.op(OpId::reciprocal_out, {beside(n, "scale", blocks, real)});
  ValueId q = n.op(OpId::round_out, {n.op(OpId::mul_out, {n.view(x, blocks.shape), inverse})});
  if (has_numbers(n, "zero_point")) {
    q = n.op(OpId::add_out, {q, beside(n, "zero_point", blocks, n.dtype(q))});
  }
  q = n.op(OpId::clamp_out, {q, range.low, range.high});
  n.output(n.cast(n.view(q, n.shape(x)), type));
}

void import_dequantize_affine(NodeContext& n) {
  const ValueId q = n.tensor("input");
  const Blocks blocks = blocks_of(n, q);
  const DType type = n.dtype("output_dtype", DType::kF32);
  if (n.ok() && !is_floating(type)) return n.invalid("'output_dtype' is not a floating type");
  ValueId x = n.cast(n.view(q, blocks.shape), type);
  if (has_numbers(n, "zero_point")) x = n.op(OpId::sub_out, {x, beside(n, "zero_point", blocks, type)});
  x = n.op(OpId::mul_out, {x, beside(n, "scale", blocks, n.dtype(n.tensor("scale")))});
  n.output(n.cast(n.view(x, n.shape(q)), type));
}

double smallest_normal(DType type) { return type == DType::kF16 ? 0x1p-14 : 0x1p-126; }

/// Scale and zero point of what lies from `low`, at most 0, to `high`, at least 0.
struct Chosen {
  ValueId scale, zero;
};

Chosen choose(NodeContext& n, const std::string& mapping, ValueId low, ValueId high, const Range& range) {
  Chosen made;
  const double eps = n.number("eps", smallest_normal(n.dtype(low)));
  const auto at_least_eps = [&](ValueId scale) { return n.op(OpId::clamp_out, {scale, eps, None()}); };
  const double steps = range.high - range.low;
  if (mapping == "ASYMMETRIC") {
    made.scale = at_least_eps(n.op(OpId::div_Scalar_out, {n.op(OpId::sub_out, {high, low}), steps}));
    const ValueId shift = n.op(OpId::round_out, {n.op(OpId::div_out, {low, made.scale})});
    made.zero = n.op(OpId::clamp_out, {n.op(OpId::rsub_Scalar_out, {shift, range.low}), range.low, range.high});
    return made;
  }
  if (mapping == "SYMMETRIC") {
    const ValueId most = n.op(OpId::maximum_out, {n.op(OpId::neg_out, {low}), high});
    made.scale = at_least_eps(n.op(OpId::div_Scalar_out, {most, steps / 2}));
  } else {
    const ValueId below = n.op(OpId::div_Scalar_out, {low, range.low});
    const ValueId above = n.op(OpId::div_Scalar_out, {high, range.high});
    made.scale = at_least_eps(n.op(OpId::maximum_out, {below, above}));
  }
  made.zero = n.op(OpId::full_like_out, {made.scale, std::trunc((range.high + range.low + 1) / 2)});
  return made;
}

void import_choose_qparams_affine(NodeContext& n) {
  const ValueId x = n.tensor("input");
  const Blocks blocks = blocks_of(n, x);
  const Range range = range_of(n, n.dtype("target_dtype", DType::kI8));
  const std::string mapping = n.text("mapping_type", "");
  if (n.ok() && mapping != "ASYMMETRIC" && mapping != "SYMMETRIC" && mapping != "SYMMETRIC_NO_CLIPPING_ERR") {
    return n.unsupported("'mapping_type' " + mapping);
  }
  if (n.ok() && mapping == "SYMMETRIC_NO_CLIPPING_ERR" && !(range.low < 0 && range.high > 0)) {
    return n.invalid("'quant_min' must be negative and 'quant_max' positive");
  }
  const ValueId cut = n.view(x, blocks.shape);
  // No dimensions would stand for all.
  const auto extreme = [&](OpId op) { return blocks.within.empty() ? cut : n.op(op, {cut, blocks.within, true}); };
  const ValueId zero = n.splat(n.dtype(x), {}, 0);
  const Chosen chosen = choose(n, mapping, n.op(OpId::minimum_out, {extreme(OpId::amin_out), zero}),
                               n.op(OpId::maximum_out, {extreme(OpId::amax_out), zero}), range);
  std::vector<Dim> shape = blocks.counts;
  if (!n.truth("keepdim", false)) {
    shape.clear();
    size_t next = 0;
    for (size_t d = 0; d < blocks.shape.size(); ++d) {
      const bool reduced = next < blocks.within.size() && blocks.within[next] == Dim(static_cast<int64_t>(d));
      if (!reduced) shape.push_back(blocks.shape[d]);
      if (reduced) ++next;
    }
  }
  const DType whole = mapping == "ASYMMETRIC" ? DType::kI32 : n.dtype(chosen.zero);
  n.output(0, n.cast(n.view(chosen.scale, shape), n.dtype("scale_dtype", n.dtype(x))));
  n.output(1, n.cast(n.view(chosen.zero, shape), n.dtype("zero_point_dtype", whole)));
}

constexpr OperatorRow kTorchaoRows[] = {
    {"torchao::choose_qparams_affine", import_choose_qparams_affine},
    {"torchao::dequantize_affine", import_dequantize_affine},
    {"torchao::quantize_affine", import_quantize_affine},
};

}  // namespace

OperatorTable torchao_operators() { return kTorchaoRows; }

}  // namespace berth::pt2
