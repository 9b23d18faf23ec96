#include "compiler/fuse/narrow_caches.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/half.h"
#include "compiler/ir/arguments.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Method;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::StateId;
using ir::ValueId;

static_assert(size_t{arg::grouped_attention_out::key} == size_t{arg::grouped_attention_rows_out::key} &&
              size_t{arg::grouped_attention_out::value} == size_t{arg::grouped_attention_rows_out::value});
constexpr size_t kKey = arg::grouped_attention_out::key;
constexpr size_t kValue = arg::grouped_attention_out::value;

bool is_grouped_attention(const Node& node) {
  return node.is(OpId::grouped_attention_out) || node.is(OpId::grouped_attention_rows_out);
}

// How one method uses a state, from its reading to its writing.
struct CacheUse {
  Method* method = nullptr;
  NodeId put;                   // what writes some of its rows
  std::vector<ValueId> values;  // all that are the state: before and after, inside of the delegate and outside
};

// Who reads what, in one method.
class Readers {
 public:
  explicit Readers(const Method& method) {
    ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
      for (const Argument& output : graph.outputs) {
        ir::for_each_value(output, [&](const ValueId& value) { ++outputs_[value]; });
      }
      for (const NodeId id : graph.nodes) {
        for (const Argument& argument : method.node(id).args) {
          ir::for_each_value(argument, [&](const ValueId& value) { nodes_[value].push_back(id); });
        }
      }
    });
  }

  /// A node for each time that it reads `value`.
  const std::vector<NodeId>& of(ValueId value) const {
    static const std::vector<NodeId> kNone;
    const auto found = nodes_.find(value);
    return found == nodes_.end() ? kNone : found->second;
  }
  /// How often a graph gives it.
  int outputs(ValueId value) const {
    const auto found = outputs_.find(value);
    return found == outputs_.end() ? 0 : found->second;
  }
  /// The only reader of `value`; invalid where there are others.
  NodeId only(ValueId value) const { return of(value).size() == 1 && outputs(value) == 0 ? of(value)[0] : NodeId{}; }

 private:
  std::map<ValueId, std::vector<NodeId>> nodes_;
  std::map<ValueId, int> outputs_;
};

class CacheFinder {
 public:
  CacheFinder(ir::Module& module, const Targets& targets) : module_(module) {
    for (const StateId id : module.states.ids()) {
      const ir::State& state = module.states[id];
      if (state.type.dtype == DType::kF32 && state.type.is_contiguous()) caches_[id];
    }
    for (Method& method : module.methods) find_uses(method, targets);
    while (drop_pairs()) {
    }
  }

  const std::map<StateId, std::vector<CacheUse>>& found() const { return caches_; }
  /// What keys and values become.
  DType type() const { return type_; }

 private:
  // Leaves out what `method` uses in another way.
  void find_uses(Method& method, const Targets& targets) {
    const Readers readers(method);
    const NodeTargets target_of = targets_of_nodes(module_, method, targets);
    std::map<StateId, int> mentions;
    ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
      for (const NodeId id : graph.nodes) {
        const Node& node = method.node(id);
        if (node.is(OpId::state_read) || node.is(OpId::state_write)) ++mentions[node.state];
      }
    });
    for (const auto& [state, count] : mentions) {
      const auto found = caches_.find(state);
      if (found == caches_.end()) continue;
      CacheUse use;
      use.method = &method;
      if (count == 2 && read_use(method, readers, target_of, state, &use)) {
        found->second.push_back(use);
      } else {
        caches_.erase(found);
      }
    }
  }

  bool read_use(const Method& method, const Readers& readers, const NodeTargets& target_of, StateId state,
                CacheUse* use) {
    for (const NodeId id : method.body.nodes) {
      const Node& read = method.node(id);
      if (!read.is(OpId::state_read) || read.state != state) continue;
      const NodeId call = readers.only(read.results[0]);
      use->values.push_back(read.results[0]);
      return call.valid() && is_changed_in(method, readers, target_of, call, state, use);
    }
    return false;
  }

  // Whether the delegate `call` puts rows into its input, which attention reads, and gives the state back.
  bool is_changed_in(const Method& method, const Readers& readers, const NodeTargets& target_of, NodeId call,
                     StateId state, CacheUse* use) {
    const Node& node = method.node(call);
    if (!node.is(OpId::delegate) || node.regions.empty() || node.regions[0].nodes.empty()) return false;
    const ir::Graph& region = node.regions[0];
    const targets::Target* target = target_of[region.nodes[0]];
    if (target == nullptr || !takes_bytes(*target) || target->weights == DType::kF32) return false;
    type_ = target->weights;
    const auto& inputs = std::get<ir::ValueList>(node.args[0]);
    const auto input = std::find(inputs.begin(), inputs.end(), use->values[0]);
    if (input == inputs.end()) return false;
    const ValueId inside = region.inputs[input - inputs.begin()];
    use->put = readers.only(inside);
    if (!use->put.valid() || !method.node(use->put).is(OpId::index_put_out)) return false;
    const Node& put = method.node(use->put);
    // What is added up would be rounded each time.
    if (put.args[arg::index_put_out::accumulate] != Argument(false)) return false;
    if (put.args[arg::index_put_out::self] != Argument(inside)) return false;
    const ValueId changed = put.results[0];
    if (readers.outputs(changed) != 1 || readers.of(changed).empty()) return false;
    for (const NodeId reader : readers.of(changed)) {
      if (!reads_as_cache(method.node(reader), changed)) return false;
    }
    const auto given = std::find(region.outputs.begin(), region.outputs.end(), Argument(changed));
    if (given == region.outputs.end()) return false;
    const ValueId result = node.results[given - region.outputs.begin()];
    const NodeId write = readers.only(result);
    if (!write.valid() || !method.node(write).is(OpId::state_write) || method.node(write).state != state) return false;
    use->values.insert(use->values.end(), {inside, changed, result});
    return true;
  }

  static bool reads_as_cache(const Node& node, ValueId cache) {
    if (!is_grouped_attention(node)) return false;
    for (size_t k = 0; k < node.args.size(); ++k) {
      if (k != kKey && k != kValue && node.args[k] == Argument(cache)) return false;
    }
    return true;
  }

  // Keys are of the values' type: drops caches that attention reads together with something else. True where one went.
  bool drop_pairs() {
    std::set<std::pair<const Method*, ValueId>> narrow;
    for (const auto& [state, uses] : caches_) {
      for (const CacheUse& use : uses) narrow.emplace(use.method, use.method->node(use.put).results[0]);
    }
    for (auto cache = caches_.begin(); cache != caches_.end(); ++cache) {
      const auto pairs = [&](const CacheUse& use) { return is_paired(use, narrow); };
      if (!cache->second.empty() && std::all_of(cache->second.begin(), cache->second.end(), pairs)) continue;
      caches_.erase(cache);
      return true;
    }
    return false;
  }

  static bool is_paired(const CacheUse& use, const std::set<std::pair<const Method*, ValueId>>& narrow) {
    const ValueId cache = use.method->node(use.put).results[0];
    bool paired = true;
    ir::for_each_graph(*use.method, use.method->body, [&](const ir::Graph& graph) {
      for (const NodeId id : graph.nodes) {
        const Node& node = use.method->node(id);
        if (!is_grouped_attention(node)) continue;
        const ValueId key = value_argument(node, kKey), value = value_argument(node, kValue);
        if (key != cache && value != cache) continue;
        paired = paired && narrow.count({use.method, key}) != 0 && narrow.count({use.method, value}) != 0;
      }
    });
    return paired;
  }

  ir::Module& module_;
  std::map<StateId, std::vector<CacheUse>> caches_;
  DType type_ = DType::kF32;
};

template <typename T>
std::vector<uint8_t> rounded_to(const std::vector<float>& wide) {
  std::vector<uint8_t> bytes(wide.size() * sizeof(T));
  for (size_t i = 0; i < wide.size(); ++i) {
    const T narrow(wide[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &narrow, sizeof(T));
  }
  return bytes;
}

// The initial contents in 16 bits.
ir::Blob rounded(const ir::Blob& blob, DType type) {
  std::vector<float> wide(blob.size() / sizeof(float));
  blob.read(0, {reinterpret_cast<uint8_t*>(wide.data()), blob.size()});
  return ir::Blob::owned(type == DType::kF16 ? rounded_to<Half>(wide) : rounded_to<BFloat16>(wide));
}

// What is put into a cache, in 16 bits.
Expected<passes::Action> round_put(Context& context, ir::Builder& build, NodeId id, DType type) {
  const Argument values = context.node(id).args[arg::index_put_out::values];
  const Argument number = Dim(static_cast<int64_t>(type));
  const std::string source = context.node(id).source;
  BERTH_ASSIGN_OR_RETURN(const ValueId narrow,
                         build.one(OpId::to_dim_order_copy_out, {values, false, ir::None{}, number}, source));
  context.method().node(id).args[arg::index_put_out::values] = narrow;
  return passes::Action::keep();
}

}  // namespace

Expected<passes::Changed> narrow_caches(ir::Module& module, const Targets& targets, const passes::Options& options) {
  const CacheFinder finder(module, targets);
  std::map<const Method*, std::set<NodeId>> puts;
  for (const auto& [state, uses] : finder.found()) {
    ir::State& changed = module.states[state];
    changed.type.dtype = finder.type();
    if (changed.initial) changed.initial = rounded(*changed.initial, finder.type());
    for (const CacheUse& use : uses) {
      for (const ValueId value : use.values) use.method->value(value).tensor()->dtype = finder.type();
      puts[use.method].insert(use.put);
    }
  }
  if (puts.empty()) return passes::Changed::kNo;
  BERTH_TRY(rewrite_regions(module, targets, options, [&] {
    return Visit([&](Context& context, ir::Builder& build, NodeId id) -> Expected<passes::Action> {
      if (puts[&context.method()].count(id) == 0) return passes::Action::keep();
      passes::remark(options, "precision", context.method(), context.node(id), to_string(finder.type()));
      return round_put(context, build, id, finder.type());
    });
  }));
  return passes::Changed::kYes;
}

}  // namespace berth::fuse
