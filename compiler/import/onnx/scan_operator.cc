// Scan: berth::scan, with what it scans turned to the first dimension.
#include "compiler/import/onnx/control_operators.h"

namespace berth::onnx {
namespace {

/// Attribute `name` of Scan: a number for each of `count` tensors, 0 without it.
std::vector<int64_t> for_each(NodeContext& n, const char* name, size_t count) {
  std::vector<int64_t> numbers = n.integers(name, std::vector<int64_t>(count, 0));
  if (numbers.size() != count) {
    n.invalid("attribute '" + std::string(name) + "' has " + std::to_string(numbers.size()) + " numbers, expected " +
              std::to_string(count));
    numbers.assign(count, 0);
  }
  return numbers;
}

/// `x` with dimension `from` moved to `to`.
ValueId moved(NodeContext& n, ValueId x, int from, int to) {
  std::vector<int64_t> order;
  for (int i = 0; i < n.rank(x); ++i) {
    if (i != from) order.push_back(i);
  }
  if (!order.empty()) order.insert(order.begin() + to, from);
  return n.permute(x, order);
}

ValueId flipped(NodeContext& n, ValueId x, int axis) { return n.op(OpId::flip_out, {x, DimList{Dim(axis)}}); }

/// A Scan over `inputs`, what is carried before what is scanned; its results. Empty after a failure.
std::vector<ValueId> scan_over(NodeContext& n, const ValueList& inputs) {
  const Graph* body = n.graph("body");
  const int64_t count = n.integer("num_scan_inputs", 0);
  if (n.ok() && (count < 1 || static_cast<size_t>(count) > inputs.size())) {
    n.invalid("attribute 'num_scan_inputs' must be from 1 to the number of inputs");
  }
  if (!n.ok()) return {};
  const size_t scans = count;
  const size_t carried = inputs.size() - scans;
  if (body->outputs.size() < carried) return n.invalid("its body gives less than goes around"), ValueList();
  const size_t stacked = body->outputs.size() - carried;
  if (n.output_count() > carried + stacked) {
    return n.invalid("its body gives less than the node has results"), ValueList();
  }
  const std::vector<int64_t> axes = for_each(n, "scan_input_axes", scans);
  const std::vector<int64_t> directions = for_each(n, n.opset() < 9 ? "directions" : "scan_input_directions", scans);
  const std::vector<int64_t> out_axes = for_each(n, "scan_output_axes", stacked);
  const std::vector<int64_t> out_directions = for_each(n, "scan_output_directions", stacked);
  ValueList start;
  ValueList scanned;
  for (size_t i = 0; i < carried; ++i) start.push_back(inputs[i]);
  for (size_t i = 0; i < scans; ++i) {
    const ValueId x = inputs[carried + i];
    const ValueId front = moved(n, x, n.axis(axes[i], n.rank(x)), 0);
    scanned.push_back(directions[i] != 0 ? flipped(n, front, 0) : front);
  }
  if (!n.ok()) return {};
  const Dim length = n.dim(scanned[0], 0);
  std::vector<ir::Graph> regions(1);
  Operands arguments;
  for (ValueId v : start) arguments.push_back(operand_of(n.region_input(type_of(n, v))));
  for (ValueId v : scanned) {
    ir::TensorType slice;
    slice.dtype = n.dtype(v);
    slice.shape = n.shape(v);
    if (slice.shape.empty() || slice.shape[0] != length)
      return n.invalid("what is scanned differs in length"), ValueList();
    slice.shape.erase(slice.shape.begin());
    arguments.push_back(operand_of(n.region_input(std::move(slice))));
  }
  regions[0].inputs = ids_of(arguments, 0, SIZE_MAX);
  const ValueList outputs = ids_of(import_inner_graph(n, *body, arguments, &regions[0]), 0, SIZE_MAX);
  if (!same_types(n, start, outputs, "what goes around must keep its type")) return {};
  regions[0].outputs.assign(outputs.begin(), outputs.end());
  std::vector<ir::Type> types = types_of(n, outputs);
  for (size_t i = carried; i < types.size(); ++i) {
    std::vector<Dim>& shape = std::get<ir::TensorType>(types[i]).shape;
    shape.insert(shape.begin(), length);
  }
  std::vector<ValueId> results = n.control(OpId::scan, {length, start, scanned}, std::move(regions), std::move(types));
  for (size_t i = carried; n.ok() && i < results.size(); ++i) {
    if (out_directions[i - carried] != 0) results[i] = flipped(n, results[i], 0);
    results[i] = moved(n, results[i], 0, n.axis(out_axes[i - carried], n.rank(results[i])));
  }
  return results;
}

// Opset 8 has a batch in front of everything, and the length of each of its sequences as first input: each is scanned
// for itself.
void scan_of_batch(NodeContext& n) {
  if (n.has_input(0)) return n.unsupported("lengths of sequences (input 0); export with opset 9 or newer");
  ValueList inputs;
  for (size_t i = 1; i < n.input_count(); ++i) inputs.push_back(n.input(i));
  const int64_t batch = n.fixed(n.dim(inputs.empty() ? ValueId() : inputs[0], 0), "the batch");
  if (n.ok() && (batch < 1 || batch > kMaxUnrolledTurns)) return n.unsupported("a batch of none, or of more than 256");
  std::vector<ValueList> results;
  for (int64_t b = 0; b < batch && n.ok(); ++b) {
    ValueList one;
    for (ValueId v : inputs) one.push_back(n.op(OpId::select_copy_int_out, {v, Dim(0), Dim(b)}));
    const std::vector<ValueId> outputs = scan_over(n, one);
    results.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) results[i].push_back(outputs[i]);
  }
  for (size_t i = 0; i < results.size() && n.ok(); ++i) n.output(i, n.op(OpId::stack_out, {results[i], Dim(0)}));
}

}  // namespace

void import_scan(NodeContext& n) {
  if (n.opset() < 9) return scan_of_batch(n);
  ValueList inputs;
  for (size_t i = 0; i < n.input_count(); ++i) inputs.push_back(n.input(i));
  give_results(n, scan_over(n, inputs), 0);
}

}  // namespace berth::onnx
