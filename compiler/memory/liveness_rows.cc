// Loops on devices. A device computes in delegates and copies, which write neither in place nor parts of a tensor; so
// instead of copying in each iteration, an instruction points a tensor without a place at a row of one that has one:
//
//     slices    a slice is a row of what is scanned
//     stacks    what a delegate makes for a row is made there
//     carried   what a delegate makes for the next iteration is made in a row, by turns in one of two, or in the stack
//               if it is stacked too; then the carried value is pointed there. The initial value is copied once, into
//               the row that is written last of all
//
// Where a row is not as aligned as delegates want it, or something else makes it, it is copied within the device.
#include <algorithm>
#include <limits>

#include "base/backend_facts.h"
#include "base/math.h"
#include "compiler/ir/arguments.h"
#include "compiler/memory/liveness_analysis.h"
#include "compiler/memory/output_scratch.h"

namespace berth::memory::internal {

using ir::Graph;
using ir::Node;
using ir::OpId;
using ir::TensorType;
using ir::ValueId;

namespace {

bool is_output(const Graph& body, size_t begin, size_t end, ValueId value) {
  const auto same = [&](const ir::Argument& output) {
    const ValueId* other = std::get_if<ValueId>(&output);
    return other != nullptr && *other == value;
  };
  const auto from = body.outputs.begin();
  return std::any_of(from + static_cast<ptrdiff_t>(begin), from + static_cast<ptrdiff_t>(end), same);
}

bool is_given_once(const Graph& body, size_t begin, size_t end, size_t k) {
  const ValueId value = std::get<ValueId>(body.outputs[k]);
  return !is_output(body, begin, k, value) && !is_output(body, k + 1, end, value);
}

}  // namespace

Status Analysis::place_rows(const Node& node, const Graph& body, size_t carried) {
  if (!options_.alias) return Done{};
  for (size_t k = carried; k < node.results.size(); ++k) place_in_stack(body, k, carried, node.results[k]);
  for (size_t i = 0; i < carried; ++i) BERTH_TRY(point(node, body, i, carried));
  return Done{};
}

/// Whether `output`, which the body gives for `result`, is made by one instruction of the body that takes any address.
bool Analysis::may_be_row(const Graph& body, const ir::Argument& output, ValueId result) const {
  const ValueId* value = std::get_if<ValueId>(&output);
  const TensorType* whole = method_.value(result).tensor();
  if (value == nullptr || whole == nullptr || whole->device.is_cpu()) return false;
  const TensorType* type = method_.value(*value).tensor();
  const ir::Value& made = method_.value(*value);
  if (type == nullptr || !type->is_static() || made.kind != ir::ValueKind::kNode) return false;
  const Node& maker = method_.node(made.node);
  return (maker.is(OpId::delegate) || maker.op->is_device_copy()) &&
         std::find(body.nodes.begin(), body.nodes.end(), made.node) != body.nodes.end() &&
         !payload_uses_as_scratch(module_, method_, *value);
}

bool Analysis::has_aligned_rows(const TensorType& row) const {
  return ir::max_bytes(row, module_.symbols) % kDelegateAlignment == 0;
}

void Analysis::place_in_stack(const Graph& body, size_t k, size_t carried, ValueId result) {
  if (!may_be_row(body, body.outputs[k], result) || !is_given_once(body, carried, body.outputs.size(), k)) return;
  const ValueId value = std::get<ValueId>(body.outputs[k]);
  if (!has_aligned_rows(method_.tensor(value))) return;
  out_.aliases.rows[value] = {RowHome::Kind::kStack, result};
}

Status Analysis::point(const Node& node, const Graph& body, size_t i, size_t carried) {
  const ValueId result = node.results[i];
  if (!may_point(body, i, carried, result)) return Done{};
  const ValueId next = std::get<ValueId>(body.outputs[i]);
  RowHome& row = out_.aliases.rows[next];
  if (row.in_row()) {
    // With one row alone the first iteration would read and write it.
    const ir::Dim length = std::get<ir::Dim>(node.args[arg::scan::length]);
    const ValueHome& stack = out_.aliases.homes[row.rows];
    if (!length.is_constant() || length.value < 2 || stack.home != Home::kBuffer) return Done{};
    out_.aliases.homes[result] = stack;
  } else {
    const TensorType& type = method_.tensor(result);
    ValueHome& home = out_.aliases.homes[result];
    if (home.home != Home::kBuffer) {
      BERTH_ASSIGN_OR_RETURN(const BufferId made,
                             add_buffer(type, false, step_, step_ + 1, "%" + method_.value(result).name, result));
      home = {Home::kBuffer, made, {}};
    }
    packing::Buffer& buffer = out_.buffers.all[home.buffer];
    buffer.size = 2 * align_up(buffer.size, buffer.alignment);
    out_.buffers.made_twice.resize(out_.buffers.all.size(), false);
    out_.buffers.made_twice[home.buffer] = true;
    row = {RowHome::Kind::kPair, result};
  }
  out_.aliases.pointed[result] = true;
  stacked_.push_back(result);
  return Done{};
}

bool Analysis::may_point(const Graph& body, size_t i, size_t carried, ValueId result) const {
  if (!may_be_row(body, body.outputs[i], result) || !is_given_once(body, 0, carried, i)) return false;
  const ValueId next = std::get<ValueId>(body.outputs[i]);
  const TensorType& type = method_.tensor(next);
  const int64_t bytes = ir::max_bytes(type, module_.symbols);
  // The rows are those of a tensor of bytes, whose sizes have 31 bits.
  if (bytes == 0 || bytes > std::numeric_limits<int32_t>::max() / 2) return false;
  return method_.value(next).type == method_.value(result).type && !is_read_after(body, body.inputs[i], next);
}

/// Whether something reads `input`, a carried value, under any name after the node that makes `next`.
bool Analysis::is_read_after(const Graph& body, ValueId input, ValueId next) const {
  IdVector<ValueId, bool> names(method_.values.size(), false);
  names[input] = true;
  bool made = false;
  for (const ir::NodeId id : body.nodes) {
    const Node& node = method_.node(id);
    bool reads = false;
    ir::for_each_mention(method_, node, [&](const ValueId& v) { reads = reads || names[v]; });
    if (reads && made) return true;
    made = made || id == method_.value(next).node;
    const bool may_be_view = !node.is(OpId::delegate) && (node.op->may_be_view() || !node.regions.empty());
    for (const ValueId result : node.results) names[result] = names[result] || (reads && may_be_view);
  }
  bool given = false;
  for (const ir::Argument& output : body.outputs) {
    ir::for_each_value(output, [&](const ValueId& v) { given = given || names[v]; });
  }
  return given;
}

Status Analysis::make_slice(ValueId slice, ValueId scanned) {
  const TensorType* type = method_.value(slice).tensor();
  const bool row = options_.alias && type != nullptr && !type->device.is_cpu() && type->is_static();
  if (row && has_aligned_rows(*type)) out_.aliases.rows[slice] = {RowHome::Kind::kSlice, scanned};
  return make_buffer(slice, step_);
}

}  // namespace berth::memory::internal
