#include "compiler/fuse/fuse_narrow_products.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "compiler/fuse/integer_weight.h"
#include "compiler/fuse/wide_values.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

constexpr char kInto[] = "berth::narrow_linear";

Expected<passes::Action> keep(const Context& context, NodeId id, Reason reason) {
  context.remark(context.node(id), reason, reason == Reason::kFused ? "" : kInto);
  return passes::Action::keep();
}

bool are_rows(const Context& context, ValueId value, DType type) {
  return context.type(value).dtype == type && context.type(value).is_contiguous();
}

ValueId whole_constant(ir::Builder& build, const IntegerWeight::Numbers& numbers, const std::string& name) {
  ir::TensorType type;
  type.dtype = DType::kI8;
  type.shape = ir::dims({numbers.rows, numbers.columns});
  std::vector<uint8_t> bytes;
  for (const float z : numbers.values) bytes.push_back(static_cast<uint8_t>(static_cast<int8_t>(z)));
  return build.constant(type, ir::Blob::owned(std::move(bytes)), name);
}

ValueId zeros_constant(ir::Builder& build, const IntegerWeight& weight, const std::string& name) {
  const IntegerWeight::Numbers& points = *weight.zero_points;
  if (weight.has_whole_zeros()) return whole_constant(build, points, name);
  return float_constant(build, {points.rows, points.columns}, points.values, name);
}

/// Appends the arguments weight, scales and zero points.
void add_constants(ir::Builder& build, const IntegerWeight& weight, const std::string& name,
                   std::vector<Argument>* args) {
  const IntegerWeight::Numbers& scales = weight.scales;
  ir::TensorType type;
  type.dtype = weight.bits == 8 ? DType::kI8 : DType::kU8;
  type.shape = ir::dims({static_cast<int64_t>(weight.bytes.size()) / weight.columns, weight.columns});
  args->emplace_back(build.constant(type, ir::Blob::owned(weight.bytes), name + "_narrow"));
  args->emplace_back(float_constant(build, {scales.rows, scales.columns}, scales.values, name + "_scales"));
  args->emplace_back();
  if (weight.zero_points.has_value()) args->back() = zeros_constant(build, weight, name + "_zeros");
}

Expected<passes::Action> make(Context& context, ir::Builder& build, NodeId id, ValueId input,
                              const IntegerWeight& weight, Argument bias, Argument residual) {
  const Node& node = context.node(id);
  const std::string source = node.source;
  const std::string name = context.method().value(node.results[0]).name;
  const DType type = context.type(node.results[0]).dtype;
  context.remark(node, Reason::kFused, kInto);
  BERTH_ASSIGN_OR_RETURN(const ValueId rows, wide_value(context, build, input, source));
  std::vector<Argument> args = {rows};
  add_constants(build, weight, name, &args);
  args.insert(args.end(), {std::move(bias), std::move(residual), ir::Dim(weight.bits), ir::Dim(weight.block),
                           std::string("none"), 0.0, 0.0, std::string()});
  BERTH_ASSIGN_OR_RETURN(const ValueId made, build.one(OpId::fused_narrow_linear_out, std::move(args), source, name));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, narrowed_value(build, made, type, source, name));
  return context.replace(id, result);
}

// Whether matrix products alone read `weight`, as their weight: then each has it narrow, and equal constants are one in
// the file.
bool only_products_read(const Context& context, ValueId weight) {
  int count = 0;
  for (const Node& node : context.method().nodes) {
    const size_t b = node.is(OpId::addmm_out) ? 2 : 1;
    const bool product = node.is(OpId::addmm_out) || node.is(OpId::mm_out);
    if (product && value_argument(node, b) == weight) ++count;
  }
  return count == context.uses(weight);
}

Expected<passes::Action> product(Context& context, ir::Builder& build, NodeId id, size_t a, size_t b) {
  const Node node = context.node(id);  // casts are appended to the list that it stands in
  const ValueId input = value_argument(node, a);
  const ValueId weight = value_argument(node, b);
  const DType dtype = context.type(node.results[0]).dtype;
  if (context.maker(weight) == nullptr || !are_rows(context, input, dtype) || context.type(weight).dtype != dtype ||
      (dtype != DType::kF32 && !has_16_bits(dtype))) {
    return passes::Action::keep();
  }
  Argument bias = ir::None{};
  Argument residual = ir::None{};
  if (node.is(OpId::addmm_out)) {
    const ValueId added = value_argument(node, arg::addmm_out::self);
    const ir::TensorType& type = context.type(added);
    const ir::TensorType& out = context.type(node.results[0]);
    if (context.number(node.args[arg::addmm_out::beta]) != 1.0 ||
        context.number(node.args[arg::addmm_out::alpha]) != 1.0) {
      return keep(context, id, Reason::kScaled);
    }
    if (!are_rows(context, added, dtype)) return keep(context, id, Reason::kDType);
    if (type.rank() == 1 && type.shape[0] == out.shape[1] && context.constant(Argument(added)) != nullptr) {
      bias = added;
    } else if (type.shape == out.shape) {
      residual = added;
    } else {
      return keep(context, id, Reason::kShape);
    }
  }
  const std::optional<IntegerWeight> narrow = read_integer_weight(context, weight);
  if (!narrow.has_value()) return passes::Action::keep();
  if (context.uses(weight) != 1 && !only_products_read(context, weight)) {
    return keep(context, id, Reason::kReadElsewhere);
  }
  if (!ir::is_none(bias)) bias = wide_constant(context, build, bias);
  if (!ir::is_none(residual)) {
    BERTH_ASSIGN_OR_RETURN(residual, wide_value(context, build, std::get<ValueId>(residual), node.source));
  }
  return make(context, build, id, input, *narrow, std::move(bias), std::move(residual));
}

Expected<passes::Action> mixed(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  const ValueId input = value_argument(node, arg::mixed_linear_out::input);
  if (!are_rows(context, input, DType::kF32) || context.type(node.results[0]).dtype != DType::kF32) {
    return keep(context, id, Reason::kDType);
  }
  const std::optional<IntegerWeight> narrow = read_mixed_weight(context, node);
  if (!narrow.has_value()) return keep(context, id, Reason::kNotConstant);
  return make(context, build, id, input, *narrow, ir::None{}, ir::None{});
}

}  // namespace

Expected<passes::Changed> fuse_narrow_products(ir::Module& module, const Targets& targets,
                                               const passes::Options& options) {
  return rewrite_regions(module, targets_of_bytes(targets), options, [] {
    return Visit([](Context& context, ir::Builder& build, NodeId id) -> Expected<passes::Action> {
      switch (context.node(id).op->id) {
        case OpId::mm_out: return product(context, build, id, 0, 1);
        case OpId::addmm_out: return product(context, build, id, 1, 2);
        case OpId::mixed_linear_out: return mixed(context, build, id);
        default: return passes::Action::keep();
      }
    });
  });
}

}  // namespace berth::fuse
