// How a node appends operators and constants.
#include "compiler/import/lowering/lowering.h"
#include "compiler/ir/shape_args.h"
#include "compiler/ir/verify_regions.h"

namespace berth::lowering {
namespace {

// Loops that are unrolled (steps of an LSTM, columns of indices) come from sizes that a small file can make large.
constexpr size_t kMaxOperators = size_t{1} << 20;

}  // namespace

bool Lowering::may_append() {
  if (method().nodes.size() >= kMaxOperators) {
    fail(Error::kOutOfResources, "the model becomes more than " + std::to_string(kMaxOperators) + " operators");
  }
  return ok();
}

ValueId Lowering::append(OpId id, std::vector<Argument> args, std::string_view name) {
  if (!may_append()) return {};
  auto result = build_->one(id, std::move(args), name_.source, name);
  if (result.ok()) return *result;
  fail(result.error().code, result.error().text());
  return {};
}

std::vector<ValueId> Lowering::ops(const ir::Operator& op, std::vector<Argument> args) {
  if (!may_append()) return {};
  // "y.mm": intermediate values are named after what they lead to.
  const std::string wish = name_.wish + "." + std::string(op.name.substr(op.name.rfind(':') + 1));
  auto results = build_->create(op, std::move(args), name_.source, wish);
  if (!results.ok()) {
    fail(results.error().code, results.error().text());
    return {};
  }
  for (ValueId result : *results) {
    if (ir::max_numel(method().tensor(result), symbols()) > kMaxElements) {
      fail(Error::kOutOfResources, "a result has more than 2^40 elements: " + type_text(result));
    }
  }
  return ok() ? std::move(*results) : std::vector<ValueId>();
}

ValueId Lowering::op(OpId id, std::vector<Argument> args) {
  const std::vector<ValueId> results = ops(id, std::move(args));
  return results.empty() ? ValueId() : results[0];
}

std::vector<ValueId> Lowering::control(OpId id, std::vector<Argument> args, std::vector<ir::Graph> regions,
                                       std::vector<ir::Type> types) {
  if (!may_append()) return {};
  ir::Node node;
  node.op = &ir::operator_of(id);
  if (const Status fit = ir::check_results(module(), *node.op, types); !fit.ok()) {
    unsupported(fit.error().message);
    return {};
  }
  node.args = std::move(args);
  node.regions = std::move(regions);
  node.source = name_.source;
  const ir::NodeId own{static_cast<int32_t>(method().nodes.size())};
  for (size_t i = 0; i < types.size(); ++i) {
    const ValueId result = method().add_value(std::move(types[i]), name_.wish);
    ir::Value& value = method().value(result);
    value.kind = ir::ValueKind::kNode;
    value.node = own;
    value.result = static_cast<int>(i);
    node.results.push_back(result);
  }
  if (std::string problem = ir::region_problem(module(), method(), node); !problem.empty()) {
    unsupported(std::move(problem));
    return {};
  }
  const std::vector<ValueId> results = node.results;
  method().nodes.push_back(std::move(node));
  build_->graph().nodes.push_back(own);
  return results;
}

bool Lowering::has_numbers(DType dtype) {
  const bool has = is_floating(dtype) || is_integer(dtype) || dtype == DType::kBool;
  if (!has) unsupported(std::string("elements of ") + to_string(dtype) + " are not numbers that it can be done with");
  return has;
}

bool Lowering::may_be_constant(const ir::TensorType& type) {
  std::string problem = ir::type_problem(type, symbols());
  if (problem.empty() && !type.is_static()) problem = "a constant's sizes must be numbers";
  if (!problem.empty()) unsupported(std::move(problem));
  return ok();
}

ValueId Lowering::splat(DType dtype, std::vector<Dim> shape, double number) {
  if (!ok() || !has_numbers(dtype)) return {};
  ir::TensorType type;
  type.dtype = dtype;
  type.shape = shape;
  return may_be_constant(type) ? build_->splat(dtype, std::move(shape), number, name_.source) : ValueId();
}

ValueId Lowering::ints(const std::vector<int64_t>& numbers) {
  return ok() ? build_->ints(numbers, name_.source) : ValueId();
}

ValueId Lowering::numbers(DType dtype, const std::vector<double>& numbers, int rank, int axis) {
  if (!ok() || !has_numbers(dtype)) return {};
  ir::TensorType type;
  type.dtype = dtype;
  type.shape.assign(rank, Dim(1));
  if (axis < rank) type.shape[axis] = Dim(static_cast<int64_t>(numbers.size()));
  std::vector<uint8_t> bytes;
  for (double number : numbers) {
    const std::vector<uint8_t> element = ir::element_bytes(dtype, number);
    bytes.insert(bytes.end(), element.begin(), element.end());
  }
  return constant(std::move(type), ir::Blob::owned(std::move(bytes)));
}

ValueId Lowering::constant(ir::TensorType type, ir::Blob blob) {
  return may_be_constant(type) ? build_->constant(std::move(type), std::move(blob), name_.wish) : ValueId();
}

ValueId Lowering::cast(ValueId x, DType type) {
  if (!ok() || dtype(x) == type) return x;
  return op(OpId::to_dim_order_copy_out, {x, false, None(), number_of(type)});
}

ValueId Lowering::view(ValueId x, std::vector<Dim> size) {
  if (!ok() || shape(x) == size) return x;
  return op(OpId::view_copy_out, {x, std::move(size)});
}

ValueId Lowering::permute(ValueId x, const std::vector<int64_t>& order) {
  bool same = true;
  for (size_t i = 0; i < order.size(); ++i) same = same && order[i] == static_cast<int64_t>(i);
  if (!ok() || same) return x;
  return op(OpId::permute_copy_out, {x, ir::dims(order)});
}

ValueId Lowering::expand(ValueId x, std::vector<Dim> size) {
  if (!ok() || shape(x) == size) return x;
  return op(OpId::expand_copy_out, {x, std::move(size)});
}

ValueId Lowering::slice(ValueId x, int axis, Dim begin, Dim end) {
  return op(OpId::slice_copy_Tensor_out, {x, Dim(axis), begin, end, Dim(1)});
}

ValueId Lowering::pad_rank(ValueId x, int to) {
  std::vector<Dim> size = shape(x);
  if (static_cast<int>(size.size()) >= to) return x;
  size.insert(size.begin(), to - size.size(), Dim(1));
  return view(x, std::move(size));
}

}  // namespace berth::lowering
