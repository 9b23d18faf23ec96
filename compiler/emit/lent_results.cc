#include "compiler/emit/lent_results.h"

#include <algorithm>

#include "base/math.h"
#include "compiler/emit/slots.h"
#include "format/nested.h"
#include "format/tensor_facts.h"
#include "format/verify.h"

namespace berth::emit {
namespace {

using ir::Graph;
using ir::Method;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

size_t at(ValueId id) { return static_cast<size_t>(id.index); }

/// Calls `visit` with each value that the node reads or its regions yield.
template <typename Visit>
void for_each_read(const Node& node, const Visit& visit) {
  for (const ir::Argument& argument : node.args) ir::for_each_value(argument, visit);
  for (const Graph& region : node.regions) {
    for (const ir::Argument& output : region.outputs) ir::for_each_value(output, visit);
  }
}

/// Whether results may get the very bytes of arguments: as views, in place, as parts, or through a branch or loop.
bool hands_bytes_on(const Node& node) {
  if (node.is(OpId::delegate)) return false;
  return node.op->view != ir::ViewKind::kNone || node.op->in_place != ir::InPlaceClass::kNever || takes_slots(node) ||
         node.is(OpId::permute_copy_out) || node.is(OpId::clone_dim_order_out) || !node.regions.empty();
}

/// The values that may lie in the bytes of `value`, itself among them.
std::vector<bool> names_of(const Method& method, ValueId value) {
  std::vector<bool> names(method.values.size(), false);
  names[at(value)] = true;
  for (bool more = true; more;) {
    more = false;
    const auto add = [&](ValueId v) {
      more = more || !names[at(v)];
      names[at(v)] = true;
    };
    for (const Node& node : method.nodes) {
      if (!hands_bytes_on(node)) continue;
      bool reads = false;
      for_each_read(node, [&](const ValueId& v) { reads = reads || names[at(v)]; });
      if (!reads) continue;
      for (const ValueId result : node.results) add(result);
      for (const Graph& region : node.regions) std::for_each(region.inputs.begin(), region.inputs.end(), add);
    }
  }
  return names;
}

bool is_lendable(const Method& method, ValueId value, const EmitOptions& options) {
  const std::vector<bool> names = names_of(method, value);
  for (const Node& node : method.nodes) {
    if (!node.is(OpId::cat_out) && !node.is(OpId::state_write)) continue;
    bool reads = false;
    for_each_read(node, [&](const ValueId& v) { reads = reads || names[at(v)]; });
    if (reads) return false;
  }
  for (const ir::Argument& output : method.body.outputs) {
    bool callers = false;
    ir::for_each_value(output, [&](const ValueId& v) {
      if (!names[at(v)]) return;
      callers = callers || !method.tensor(v).device.is_cpu() || (options.callers && options.callers(method, v));
    });
    if (callers) return false;
  }
  return true;
}

}  // namespace

std::vector<bool> lendable_results(const Method& method, const Node& call, const EmitOptions& options) {
  std::vector<bool> lendable;
  for (const ValueId result : call.results) lendable.push_back(is_lendable(method, result, options));
  return lendable;
}

void find_lent(const Method& method, const std::vector<bool>& lent, Lifetimes* lifetimes) {
  std::vector<bool> found(lifetimes->problem.storages.size(), false);
  for (size_t k = 0; k < method.body.outputs.size(); ++k) {
    const ValueId* value = std::get_if<ValueId>(&method.body.outputs[k]);
    if (value == nullptr || !lent[at(*value)]) continue;
    const Place& place = lifetimes->places[at(*value)];
    if (place.home != Home::kStorage || found[static_cast<size_t>(place.index)]) continue;
    found[static_cast<size_t>(place.index)] = true;
    lifetimes->lent[k] = place.index;
  }
}

void lay_lent(Lifetimes* lifetimes) {
  int64_t end = 0;
  for (const int32_t storage : lifetimes->lent) {
    if (storage < 0) continue;
    BERTH_CHECK(lifetimes->arenas.size() == 1);
    plan::Storage& result = lifetimes->problem.storages[static_cast<size_t>(storage)];
    result.fixed = end;
    plan::Storage wall;
    wall.fixed = end + result.size;
    end = align_up(wall.fixed + 1, result.alignment);
    wall.size = end - wall.fixed;
    wall.upper = lifetimes->read_step + 1;
    lifetimes->problem.storages.push_back(wall);
    lifetimes->first_value.push_back(ValueId{});
  }
}

void cut_lent(Lifetimes* lifetimes, plan::Plan* plan) {
  struct Piece {
    int64_t begin = 0;
    int64_t bytes = 0;
    int32_t space = 0;
  };
  std::vector<Piece> pieces;
  int64_t scratch = 0;
  for (size_t k = 0; k < lifetimes->lent.size(); ++k) {
    if (lifetimes->lent[k] < 0) continue;
    plan::Storage& result = lifetimes->problem.storages[static_cast<size_t>(lifetimes->lent[k])];
    pieces.push_back({result.fixed, result.size, static_cast<int32_t>(k) + 1});
    scratch = align_up(result.fixed + result.size + 1, result.alignment);
    result.fixed = plan::kAnywhere;
  }
  if (pieces.empty()) return;
  const size_t storages = lifetimes->problem.storages.size() - pieces.size();
  lifetimes->problem.storages.resize(storages);
  lifetimes->first_value.resize(storages);
  plan->offsets.resize(storages);
  for (size_t i = 0; i < storages; ++i) {
    plan::Storage& storage = lifetimes->problem.storages[i];
    const auto in = std::find_if(pieces.begin(), pieces.end(), [&](const Piece& piece) {
      return plan->offsets[i] >= piece.begin && plan->offsets[i] < piece.begin + piece.bytes;
    });
    if (storage.size == 0) {
      plan->offsets[i] = 0;
    } else if (in == pieces.end()) {
      plan->offsets[i] -= scratch;
    } else {
      plan->offsets[i] -= in->begin;
      storage.space = in->space;
    }
  }
  const size_t spaces = static_cast<size_t>(pieces.back().space) + 1;
  lifetimes->problem.spaces.resize(spaces);
  lifetimes->arenas.resize(spaces, lifetimes->arenas[0]);
  plan->spaces.resize(spaces);
  plan->spaces[0].height = std::max<int64_t>(plan->spaces[0].height - scratch, 0);
  plan->spaces[0].lower_bound = std::max<int64_t>(plan->spaces[0].lower_bound - scratch, 0);
  for (const Piece& piece : pieces) {
    plan->spaces[static_cast<size_t>(piece.space)] = {piece.bytes, piece.bytes};
  }
}

bool lent_by_payload(const ir::Module& module, const Method& method, ValueId value) {
  const ir::Value& made = method.value(value);
  if (made.kind != ir::ValueKind::kNode || method.node(made.node).delegate < 0) return false;
  const ir::Delegate& delegate = module.delegates[static_cast<size_t>(method.node(made.node).delegate)];
  if (!delegate.payload.has_value() || delegate.backend.rfind("berth.", 0) != 0) return false;
  const auto file = format::open_nested(delegate.payload->bytes(), nullptr);
  format::ProgramView nested;
  if (!file.ok() || format::ProgramView::open(*file, &nested, nullptr) != Error::kOk ||
      format::verify_program(nested, nullptr) != Error::kOk || nested.method_count() != 1) {
    return false;  // not for this to say
  }
  const fb::ExecutionPlan& plan = nested.method(0);
  const uint32_t result = static_cast<uint32_t>(made.result);
  if (result >= plan.outputs()->size()) return false;
  const fb::Tensor* output = format::tensor_at(plan, plan.outputs()->Get(result));
  return output != nullptr && format::is_planned(*output);
}

}  // namespace berth::emit
