// Branches and loops: the steps of their regions follow each other on one line, and what crosses their borders lives
// long enough for every way through them.
//
//     if     the branches come one after the other; a result is alive from the first step, of either, that makes it
//     loops  carried values have one place each, from before the first iteration to after the last; the next one is
//            computed there where nothing reads the last one any more, and copied there elsewhere; what is made outside
//            and read inside lives to the loop's end, as the next iteration reads it again; on devices:
//            liveness_rows.cc
#include <algorithm>
#include <limits>

#include "compiler/ir/arguments.h"
#include "compiler/memory/in_place.h"
#include "compiler/memory/liveness_analysis.h"

namespace berth::memory::internal {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::TensorType;
using ir::ValueId;
using ir::ValueList;

Status Analysis::visit_regions(NodeId id, const std::string& where) {
  const Node& node = method_.node(id);
  out_.copies.transfers[id].resize(2);
  BERTH_TRY(make_results(node, where));
  ++depth_;
  switch (node.op->id) {
    case OpId::if_: BERTH_TRY(visit_if(id, where)); break;
    case OpId::while_: BERTH_TRY(visit_while(id, where)); break;
    case OpId::scan: BERTH_TRY(visit_scan(id, where)); break;
    default: return fault(where, "this operator has no form in a program");
  }
  --depth_;
  if (depth_ == 0) stacked_.clear();
  for (const ValueId result : node.results) alive_at(result, step_);
  return Done{};
}

/// Places for the results, which no step has made yet.
Status Analysis::make_results(const Node& node, const std::string& where) {
  for (const ValueId result : node.results) {
    const TensorType* type = method_.value(result).tensor();
    if (type == nullptr) return fault(where, "a branch or loop gives tensors; make the number a tensor");
    BERTH_TRY(make_buffer(result, step_));
    const ValueHome& place = out_.aliases.homes[result];
    if (place.home != Home::kBuffer) continue;
    out_.buffers.made_twice.resize(out_.buffers.all.size(), false);
    out_.buffers.made_twice[place.buffer] = true;
    if (out_.aliases.stands_for[result].valid()) continue;
    packing::Buffer& buffer = out_.buffers.all[place.buffer];
    buffer.lower = std::numeric_limits<int64_t>::max();
    buffer.upper = 0;
  }
  return Done{};
}

/// `value` is another word for `result`: both are one value of the file.
void Analysis::stand_for(ValueId value, ValueId result) {
  out_.aliases.stands_for[value] = result;
  out_.aliases.homes[value] = out_.aliases.homes[result];
}

namespace {

bool is_stacked(const Node& node, ValueId result) {
  if (!node.is(OpId::scan)) return false;
  const auto carried = static_cast<ptrdiff_t>(std::get<ValueList>(node.args[arg::scan::carried]).size());
  return std::find(node.results.begin(), node.results.begin() + carried, result) == node.results.begin() + carried;
}

/// Whether `value` is one alone of the first `count` outputs.
bool is_given_once(const Graph& region, size_t count, ValueId value) {
  const auto is_value = [&](const ir::Argument& output) {
    const ValueId* other = std::get_if<ValueId>(&output);
    return other != nullptr && *other == value;
  };
  const auto begin = region.outputs.begin();
  return std::count_if(begin, begin + static_cast<ptrdiff_t>(count), is_value) == 1;
}

bool is_carried_on_device(const ir::Method& method, const Node& node, ValueId result) {
  const TensorType* type = method.value(result).tensor();
  return (node.is(OpId::scan) || node.is(OpId::while_)) && type != nullptr && !type->device.is_cpu();
}

}  // namespace

/// What a node of the region makes for one output alone is made in the result's place, so that nothing is copied.
void Analysis::bind_outputs(const Graph& region, const std::vector<ValueId>& results) {
  IdVector<NodeId, bool> made_here(method_.nodes.size(), false);
  for (const NodeId id : region.nodes) made_here[id] = true;
  for (size_t k = 0; k < results.size(); ++k) {
    const ValueId* value = std::get_if<ValueId>(&region.outputs[k]);
    if (value == nullptr || method_.value(*value).kind != ir::ValueKind::kNode) continue;
    const NodeId maker = method_.value(*value).node;
    const Node& node = method_.node(maker);
    // What a scan stacks begins with its first row; were it made in another way too, it would be unknown where it
    // begins. What a loop carries on a device may have no place of its own (liveness_rows.cc).
    const bool rows = is_stacked(node, *value) || is_carried_on_device(method_, node, *value);
    const bool own = made_here[maker] && !node.op->is_reshape() && !node.is(OpId::state_read) && !rows;
    const bool once = is_given_once(region, region.outputs.size(), *value);
    if (own && once && method_.value(*value).type == method_.value(results[k]).type) {
      out_.aliases.stands_for[*value] = results[k];
    }
  }
}

Status Analysis::visit_if(NodeId id, const std::string& where) {
  const Node& node = method_.node(id);
  for (size_t r = 0; r < 2; ++r) {
    const Graph& region = node.regions[r];
    bind_outputs(region, node.results);
    BERTH_TRY(visit(region));
    ++step_;
    for (size_t k = 0; k < node.results.size(); ++k) {
      const ValueId* value = std::get_if<ValueId>(&region.outputs[k]);
      if (value == nullptr) return fault(where, "a branch or loop gives tensors; make the number a tensor");
      if (out_.aliases.stands_for[*value] == node.results[k]) continue;
      read_at(*value, step_);
      alive_at(node.results[k], step_);
      out_.copies.transfers[id][r].push_back({*value, node.results[k], {}});
    }
  }
  return Done{};
}

/// The first results have the initial values when the loop begins; the region's first inputs are them.
Status Analysis::carry(const Node& node, const ValueList& initial, const Graph& region) {
  for (size_t i = 0; i < initial.size(); ++i) {
    alive_at(node.results[i], step_);
    stand_for(region.inputs[i], node.results[i]);
  }
  return Done{};
}

/// The copies before the loop, from the initial values.
void Analysis::begin_carried(NodeId id, const ValueList& initial) {
  const Node& node = method_.node(id);
  for (size_t i = 0; i < initial.size(); ++i) {
    const ValueId result = node.results[i];
    out_.copies.transfers[id][0].push_back({initial[i], result, {}, out_.aliases.pointed[result]});
  }
}

namespace {

/// Whether the result may be another name for the bytes of an argument.
bool may_be_view(const Node& node) { return node.op->may_be_view() || !node.regions.empty(); }

}  // namespace

/// Whether `next` may be computed where `input`, a carried value of which it is the next one, lies: nothing in the body
/// reads that after the node, under any name, and the node itself only as its kernel allows.
bool Analysis::may_update(const Graph& body, ValueId input, ValueId next) const {
  IdVector<ValueId, bool> names(method_.values.size(), false);
  names[input] = true;
  const NodeId maker = method_.value(next).node;
  bool made = false;
  for (const NodeId id : body.nodes) {
    const Node& node = method_.node(id);
    bool reads = false;
    ir::for_each_mention(method_, node, [&](const ValueId& v) { reads = reads || names[v]; });
    if (reads && made) return false;
    made = made || id == maker;
    if (reads && may_be_view(node)) {
      for (const ValueId result : node.results) names[result] = true;
    }
    if (!reads || id != maker) continue;
    if (!node.regions.empty() || node.results[0] != next) return false;
    for (size_t k = 0; k < node.args.size(); ++k) {
      bool here = false;
      ir::for_each_value(node.args[k], [&](const ValueId& v) { here = here || names[v]; });
      if (!here) continue;
      const ValueId* value = std::get_if<ValueId>(&node.args[k]);
      if (value == nullptr || *value != input) return false;
      if (kernel_allows(module_, method_, node, static_cast<int32_t>(k), *value, options_.in_place_set, out_.aliases) !=
          ReuseReason::kReuse)
        return false;
    }
  }
  bool yielded = false;
  for (const ir::Argument& output : body.outputs) {
    ir::for_each_value(output, [&](const ValueId& v) { yielded = yielded || names[v]; });
  }
  return made && !yielded;
}

/// What a node of the body makes for the next iteration is made in the carried value's place where that may be, so that
/// nothing is copied.
void Analysis::update_in_place(const Graph& body, const std::vector<ValueId>& results, size_t carried) {
  if (!options_.allows_in_place()) return;
  std::vector<ValueId> updates;
  for (size_t i = 0; i < carried; ++i) {
    const ValueId* value = std::get_if<ValueId>(&body.outputs[i]);
    if (value == nullptr || method_.value(*value).kind != ir::ValueKind::kNode) continue;
    const Node& node = method_.node(method_.value(*value).node);
    const TensorType* type = method_.value(*value).tensor();
    const bool same =
        type != nullptr && type->is_static() && method_.value(*value).type == method_.value(results[i]).type;
    const bool computed = !may_be_view(node) && !node.is(OpId::state_read);
    const bool once = is_given_once(body, carried, *value);
    if (!same || !computed || !once || out_.aliases.rows[*value].in_row() ||
        out_.aliases.homes[results[i]].home != Home::kBuffer)
      continue;
    if (!may_update(body, body.inputs[i], *value)) continue;
    out_.aliases.stands_for[*value] = results[i];
    updates.push_back(*value);
  }
  for (const ValueId value : updates) {
    if (!write_is_seen(value)) out_.aliases.stands_for[value] = ValueId();
  }
}

/// Whether the plan check sees what the maker of `value` writes if `value` lies where something was written before. Of
/// a delegate's call a file says only the arguments: the last ones that nothing has written yet are taken for its
/// results, so none of them may be before one that lies so.
bool Analysis::write_is_seen(ValueId value) const {
  const Node& maker = method_.node(method_.value(value).node);
  if (!maker.is(OpId::delegate)) return true;
  const auto end = std::find(maker.results.begin(), maker.results.end(), value);
  return std::none_of(maker.results.begin(), end,
                      [&](ValueId before) { return !out_.aliases.stands_for[before].valid(); });
}

/// All that was made before the loop and is read in it lives to its end. What a loop inside of it stacks lives as long
/// as the whole outermost one: whether every row is made anew in each iteration is not seen in the program, so its
/// judge does not suppose it.
void Analysis::keep_through_loop(int64_t begin, int64_t end) {
  for (const ValueId value : stacked_) {
    alive_at(value, begin);
    alive_at(value, end);
  }
  for (packing::Buffer& buffer : out_.buffers.all) {
    if (buffer.lower < begin && buffer.upper > begin + 1) buffer.upper = std::max(buffer.upper, end + 1);
  }
}

/// What the body yields becomes what the next iteration is given, all at once: a value that one of these copies would
/// destroy before another reads it is saved first.
Status Analysis::end_iteration(NodeId id, size_t carried, const Graph& body, const std::string& where) {
  const Node& node = method_.node(id);
  std::vector<Transfer>& transfers = out_.copies.transfers[id][1];
  const auto lies_in = [&](ValueId value, ValueId result) {
    const ValueHome& a = out_.aliases.homes[value];
    const ValueHome& b = out_.aliases.homes[result];
    if (a.home != b.home) return false;
    return a.home == Home::kBuffer ? a.buffer == b.buffer : out_.aliases.stands_for[value] == result;
  };
  std::vector<Transfer> pointed;
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    const ValueId* value = std::get_if<ValueId>(&body.outputs[i]);
    if (value == nullptr) return fault(where, "a branch or loop gives tensors; make the number a tensor");
    read_at(*value, step_);
    if (i < carried && out_.aliases.pointed[node.results[i]]) {
      pointed.push_back({*value, node.results[i], {}, true});
      continue;
    }
    if (i < carried && !lies_in(*value, node.results[i])) transfers.push_back({*value, node.results[i], {}});
  }
  for (Transfer& transfer : transfers) {
    const auto destroys = [&](const Transfer& other) {
      return other.into != transfer.into && lies_in(transfer.value, other.into);
    };
    if (std::none_of(transfers.begin(), transfers.end(), destroys)) continue;
    BERTH_ASSIGN_OR_RETURN(transfer.saved, add_buffer(method_.tensor(transfer.value), false, step_, step_ + 1,
                                                      "%" + method_.value(transfer.value).name, ValueId{}));
  }
  transfers.insert(transfers.end(), pointed.begin(), pointed.end());
  return Done{};
}

Status Analysis::visit_while(NodeId id, const std::string& where) {
  const Node& node = method_.node(id);
  const ValueList& initial = std::get<ValueList>(node.args[arg::while_::init]);
  const int64_t begin = step_;
  BERTH_TRY(place_rows(node, node.regions[1], initial.size()));
  BERTH_TRY(carry(node, initial, node.regions[0]));
  BERTH_TRY(carry(node, initial, node.regions[1]));
  begin_carried(id, initial);
  BERTH_TRY(visit(node.regions[0]));
  ++step_;
  if (const ValueId* condition = std::get_if<ValueId>(&node.regions[0].outputs[0])) read_at(*condition, step_);
  update_in_place(node.regions[1], node.results, initial.size());
  BERTH_TRY(visit(node.regions[1]));
  ++step_;
  BERTH_TRY(end_iteration(id, initial.size(), node.regions[1], where));
  keep_through_loop(begin, step_);
  return Done{};
}

Status Analysis::visit_scan(NodeId id, const std::string& where) {
  const Node& node = method_.node(id);
  const Graph& body = node.regions[0];
  const ir::Dim length = std::get<ir::Dim>(node.args[arg::scan::length]);
  const ValueList& initial = std::get<ValueList>(node.args[arg::scan::carried]);
  const ValueList& scanned = std::get<ValueList>(node.args[arg::scan::scanned]);
  const int64_t begin = step_;
  BERTH_TRY(place_rows(node, body, initial.size()));
  BERTH_TRY(carry(node, initial, body));
  begin_carried(id, initial);
  for (size_t k = initial.size(); k < node.results.size(); ++k) {
    alive_at(node.results[k], step_);
    const TensorType& stack = method_.tensor(node.results[k]);
    const ValueId* row = std::get_if<ValueId>(&body.outputs[k]);
    if (!stack.device.is_cpu() && (row == nullptr || !method_.tensor(*row).is_static())) {
      return fault(where, "slices that are stacked on a device have constant sizes; stack them on the host");
    }
    if (!stack.device.is_cpu() && !length.is_constant() && module_.symbols.lower(length) < 1) {
      return fault(
          where,
          "its length may be 0, and what it stacks lies on a device, where nothing says that there are no rows; "
          "give the symbol a lower bound of 1");
    }
    out_.aliases.stacked[node.results[k]] = true;
    stacked_.push_back(node.results[k]);
  }
  ++step_;
  for (size_t j = 0; j < scanned.size(); ++j) {
    read_at(scanned[j], step_);
    BERTH_TRY(make_slice(body.inputs[initial.size() + j], scanned[j]));
  }
  update_in_place(body, node.results, initial.size());
  BERTH_TRY(visit(body));
  ++step_;
  BERTH_TRY(end_iteration(id, initial.size(), body, where));
  keep_through_loop(begin, step_);
  return Done{};
}

}  // namespace berth::memory::internal
