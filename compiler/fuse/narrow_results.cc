#include "compiler/fuse/narrow_results.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/fuse/call_to_pack.h"
#include "kernels/cpu/packing_layout.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// Both have them in the same places.
constexpr size_t kMultiplied = arg::fused_conv_out::input;
constexpr size_t kMultiplier = arg::fused_conv_out::weight;
constexpr size_t kResidual = arg::fused_conv_out::residual;
static_assert(kMultiplied == size_t{arg::fused_linear_out::input} &&
              kMultiplier == size_t{arg::fused_linear_out::weight} &&
              kResidual == size_t{arg::fused_linear_out::residual});

bool is_float_product(const Node& node) { return node.is(OpId::fused_conv_out) || node.is(OpId::fused_linear_out); }

const std::string& packing_text_of(const Node& node) {
  const bool conv = node.is(OpId::fused_conv_out);
  return std::get<std::string>(
      node.args[conv ? size_t{arg::fused_conv_out::packing} : size_t{arg::fused_linear_out::packing}]);
}

Argument& type_argument(Node& node) {
  const bool conv = node.is(OpId::fused_conv_out);
  return node.args[conv ? size_t{arg::fused_conv_out::dtype} : size_t{arg::fused_linear_out::dtype}];
}

// Of an operator that moves elements or picks the largest, and so does the same to rounded ones: the tensors that it
// moves. Nothing of others.
std::vector<ValueId> moved_by(const Node& node) {
  switch (node.op->id) {
    case OpId::cat_out:
    case OpId::clone_dim_order_out:
    case OpId::clone_out:
    case OpId::max_pool2d_with_indices_out:
    case OpId::permute_copy_out:
    case OpId::pixel_shuffle_out:
    case OpId::pixel_unshuffle_out:
    case OpId::select_copy_int_out:
    case OpId::slice_copy_Tensor_out:
    case OpId::t_copy_out:
    case OpId::transpose_copy_int_out:
    case OpId::upsample_nearest2d_vec_out: break;
    default:
      if (!node.op->is_reshape()) return {};
  }
  std::vector<ValueId> moved;
  ir::for_each_value(node.args[0], [&](const ValueId& value) { moved.push_back(value); });
  return moved;
}

class NarrowRegion {
 public:
  NarrowRegion(ir::Module& module, ir::Method& method, const targets::Target& target, const ir::Graph& region,
               const passes::Options& options)
      : module_(module),
        method_(method),
        isa_(target.isa.empty() ? "generic" : target.isa),
        options_(options),
        region_(region),
        uses_(ir::count_uses(method)) {
    for (const Argument& output : region.outputs) {
      ir::for_each_value(output, [&](const ValueId& value) { outputs_.insert(value); });
    }
    for (NodeId id : region.nodes) {
      for (const Argument& argument : method.node(id).args) {
        ir::for_each_value(argument, [&](const ValueId& value) { last_reader_[value] = id; });
      }
    }
    for (NodeId id : region.nodes) add_candidate(id);
  }

  bool run() {
    while (remove_candidates()) {
    }
    bool changed = false;
    for (NodeId id : region_.nodes) {
      Node& node = method_.node(id);
      const bool narrow = !node.results.empty() && candidates_.count(node.results[0]) != 0;
      if (is_narrow_product(node)) {
        passes::remark(options_, "precision", method_, node, to_string(narrow ? ResultReason::kNarrowed : why_not(id)));
        if (narrow) type_argument(node) = ir::Dim(static_cast<int64_t>(DType::kBF16));
      }
      if (!narrow) continue;
      method_.value(node.results[0]).tensor()->dtype = DType::kBF16;
      changed = true;
    }
    return changed;
  }

 private:
  bool is_narrow_product(const Node& node) const {
    return is_float_product(node) && method_.tensor(std::get<ValueId>(node.args[kMultiplier])).dtype == DType::kBF16;
  }

  // Results that may be narrow if all who read them are among these or fast products.
  void add_candidate(NodeId id) {
    const Node& node = method_.node(id);
    if (is_narrow_product(node)) {
      if (!takes_narrow(node)) return;
      fast_.insert(&node);
    } else if (!moves_floats(node)) {
      return;
    }
    if (outputs_.count(node.results[0]) == 0 && !ends_a_residual(id)) candidates_.insert(node.results[0]);
  }

  // Whether a product adds a residual that the region made and nothing reads afterwards.
  bool ends_a_residual(NodeId id) const {
    const Node& node = method_.node(id);
    if (!is_float_product(node)) return false;
    const ValueId residual = value_argument(node, kResidual);
    return residual.valid() && outputs_.count(residual) == 0 && method_.value(residual).node.valid() &&
           last_reader_.at(residual) == id;
  }

  bool moves_floats(const Node& node) const {
    const std::vector<ValueId> moved = moved_by(node);
    const auto is_float = [&](ValueId value) {
      const ir::TensorType* type = method_.value(value).tensor();
      return type != nullptr && type->dtype == DType::kF32;
    };
    if (moved.empty() || node.results.empty() || !is_float(node.results[0])) return false;
    if (!std::all_of(moved.begin(), moved.end(), is_float)) return false;
    if (!node.is(OpId::max_pool2d_with_indices_out)) return node.results.size() == 1;
    // There is no fast kernel for others.
    const std::vector<uint8_t> last = {0, 2, 3, 1};
    return uses_[node.results[1]] == 0 && method_.tensor(moved[0]).dim_order == last;
  }

  // How often those read each value who would read it narrow.
  std::map<ValueId, int> count_narrow_reads() const {
    std::map<ValueId, int> reads;
    for (NodeId id : region_.nodes) {
      const Node& node = method_.node(id);
      if (fast_.count(&node) != 0) ++reads[std::get<ValueId>(node.args[kMultiplied])];
      if (is_float_product(node) || node.results.empty() || candidates_.count(node.results[0]) == 0) continue;
      for (const ValueId value : moved_by(node)) ++reads[value];
    }
    return reads;
  }

  // Those that something reads wide, and moves of what is wide. False if there are none.
  bool remove_candidates() {
    const std::map<ValueId, int> reads = count_narrow_reads();
    const size_t before = candidates_.size();
    for (NodeId id : region_.nodes) {
      const Node& node = method_.node(id);
      if (node.results.empty() || candidates_.count(node.results[0]) == 0) continue;
      const ValueId result = node.results[0];
      const auto found = reads.find(result);
      bool stays = found != reads.end() && found->second == uses_[result];
      if (!is_float_product(node)) {
        for (const ValueId value : moved_by(node)) stays = stays && candidates_.count(value) != 0;
      }
      if (!stays) candidates_.erase(result);
    }
    return candidates_.size() < before;
  }

  // REQUIRES: the result of this product stays f32.
  ResultReason why_not(NodeId product) const {
    const ValueId result = method_.node(product).results[0];
    if (outputs_.count(result) != 0) return ResultReason::kOutput;
    int products = 0;
    for (NodeId id : region_.nodes) {
      const Node& reader = method_.node(id);
      if (is_narrow_product(reader) && std::get<ValueId>(reader.args[kMultiplied]) == result) ++products;
    }
    if (products == 0 || products != uses_[result]) return ResultReason::kReadWide;
    return ends_a_residual(product) ? ResultReason::kInPlace : ResultReason::kNoEngine;
  }

  // Whether a fast kernel reads and writes bf16 for it. Of a packed weight, its text has the dense sizes.
  bool takes_narrow(const Node& node) const {
    const ir::Constant* constant = ir::constant_of(module_, method_, node.args[kMultiplier]);
    if (constant == nullptr) return false;
    ir::Constant dense;
    dense.type = constant->type;
    const std::string& packing = packing_text_of(node);
    if (!packing.empty()) {
      cpu::DenseSizes sizes;
      cpu::WeightLayout layout;
      if (!cpu::read_packing({packing.data(), packing.size()}, &sizes, &layout)) return false;
      dense.type.shape.assign(sizes.size, sizes.size + sizes.rank);
    }
    if (node.is(OpId::fused_conv_out)) {
      cpu::ConvToPack conv;
      return dense.type.rank() == 4 && conv_to_pack(module_, method_, node, dense, &conv) &&
             cpu::takes_narrow_tensors(conv, isa_);
    }
    cpu::LinearToPack linear;
    return dense.type.rank() == 2 && linear_to_pack(module_, method_, node, dense, &linear) &&
           cpu::takes_narrow_tensors(linear, isa_);
  }

  ir::Module& module_;
  ir::Method& method_;
  const std::string isa_;
  const passes::Options& options_;
  const ir::Graph& region_;
  const IdVector<ValueId, int> uses_;
  std::set<ValueId> outputs_;
  std::map<ValueId, NodeId> last_reader_;
  std::set<const Node*> fast_;  // products that read and write bf16
  std::set<ValueId> candidates_;
};

}  // namespace

const char* to_string(ResultReason reason) {
  switch (reason) {
    case ResultReason::kNarrowed: return "result in bf16";
    case ResultReason::kOutput: return "result in f32: output";
    case ResultReason::kReadWide: return "result in f32: read-as-f32";
    case ResultReason::kInPlace: return "result in f32: in-place";
    case ResultReason::kNoEngine: return "result in f32: no-kernel";
  }
  return "?";
}

Expected<passes::Changed> narrow_results(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return for_each_region(module, targets, [&](ir::Method& method, const targets::Target& target, ir::Graph& region) {
    // The others have no kernels for it.
    if (!target.fuses || target.backend != "berth.cpu") return Expected<bool>(false);
    return Expected<bool>(NarrowRegion(module, method, target, region, options).run());
  });
}

}  // namespace berth::fuse
