// How a node appends operators and constants.
#include "compiler/import/onnx/node_context.h"

namespace berth::onnx {

namespace {

// Loops that are unrolled (steps of an LSTM, columns of indices) come from sizes that a small file can make large.
constexpr size_t kMaxOperators = size_t{1} << 20;

}  // namespace

bool NodeContext::may_append() {
  if (state_.method.nodes.size() >= kMaxOperators) {
    fail(Error::kOutOfResources, "the model becomes more than " + std::to_string(kMaxOperators) + " operators");
  }
  return ok();
}

ValueId NodeContext::append(OpId id, std::vector<Argument> args, std::string_view name) {
  if (!may_append()) return {};
  auto result = state_.build.one(id, std::move(args), source_, name);
  if (result.ok()) return *result;
  fail(result.error().code, result.error().text());
  return {};
}

std::vector<ValueId> NodeContext::ops(OpId id, std::vector<Argument> args) {
  if (!may_append()) return {};
  // "y.mm": intermediate values are named after what they lead to.
  const std::string_view operator_name = ir::operator_of(id).name;
  std::string wish(node_.outputs.empty() ? node_.op_type : node_.outputs[0]);
  wish += "." + std::string(operator_name.substr(operator_name.rfind(':') + 1));
  auto results = state_.build.create(id, std::move(args), source_, wish);
  if (!results.ok()) {
    fail(results.error().code, results.error().text());
    return {};
  }
  for (ValueId result : *results) {
    if (ir::max_numel(state_.method.tensor(result), symbols()) > kMaxElements) {
      fail(Error::kOutOfResources, "a result has more than 2^40 elements: " + type_text(result));
    }
  }
  return ok() ? std::move(*results) : std::vector<ValueId>();
}

ValueId NodeContext::op(OpId id, std::vector<Argument> args) {
  const std::vector<ValueId> results = ops(id, std::move(args));
  return results.empty() ? ValueId() : results[0];
}

ValueId NodeContext::splat(DType dtype, std::vector<Dim> shape, double number) {
  return ok() ? state_.build.splat(dtype, std::move(shape), number, source_) : ValueId();
}

ValueId NodeContext::ints(const std::vector<int64_t>& numbers) {
  return ok() ? state_.build.ints(numbers, source_) : ValueId();
}

ValueId NodeContext::constant(ir::TensorType type, ir::Blob blob) {
  const std::string_view wish = names_output(0) ? node_.outputs[0] : std::string_view(source_);
  return ok() ? state_.build.constant(std::move(type), std::move(blob), wish) : ValueId();
}

ValueId NodeContext::cast(ValueId x, DType type) {
  if (!ok() || dtype(x) == type) return x;
  return op(OpId::to_dim_order_copy_out, {x, false, None(), Dim(static_cast<int64_t>(type))});
}

ValueId NodeContext::view(ValueId x, std::vector<Dim> size) {
  if (!ok() || shape(x) == size) return x;
  return op(OpId::view_copy_out, {x, std::move(size)});
}

ValueId NodeContext::permute(ValueId x, const std::vector<int64_t>& order) {
  bool same = true;
  for (size_t i = 0; i < order.size(); ++i) same = same && order[i] == static_cast<int64_t>(i);
  if (!ok() || same) return x;
  return op(OpId::permute_copy_out, {x, ir::dims(order)});
}

ValueId NodeContext::expand(ValueId x, std::vector<Dim> size) {
  if (!ok() || shape(x) == size) return x;
  return op(OpId::expand_copy_out, {x, std::move(size)});
}

ValueId NodeContext::pad_rank(ValueId x, int to) {
  std::vector<Dim> size = shape(x);
  if (static_cast<int>(size.size()) >= to) return x;
  size.insert(size.begin(), static_cast<size_t>(to) - size.size(), Dim(1));
  return view(x, std::move(size));
}

ValueId NodeContext::materialize(const Known& known, std::string_view name) {
  std::vector<Dim> shape(known.shape.begin(), known.shape.end());
  if (known.is_constant()) {
    ir::TensorType type;
    type.dtype = known.dtype;
    type.shape = std::move(shape);
    return state_.build.constant(std::move(type), ir::Blob::owned(bytes_of(known)), name);
  }
  ValueList parts;
  for (const Number& number : known.elements) {
    const std::vector<Argument> args{DimList{Dim(1)}, number.whole, Dim(static_cast<int64_t>(known.dtype))};
    parts.push_back(append(OpId::full_out, args, std::string(name) + ".size"));
  }
  const ValueId line = parts.size() == 1 ? parts[0] : append(OpId::cat_out, {parts, Dim(0)}, name);
  const ValueId result = view(line, std::move(shape));
  if (ok()) state_.method.rename(result, name);
  return result;
}

}  // namespace berth::onnx
