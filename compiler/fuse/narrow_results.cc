#include "compiler/fuse/narrow_results.h"

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
constexpr size_t kAdded = arg::fused_conv_out::residual;
static_assert(kMultiplied == size_t{arg::fused_linear_out::input} &&
              kMultiplier == size_t{arg::fused_linear_out::weight} &&
              kAdded == size_t{arg::fused_linear_out::residual});

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

// Who reads a value.
struct NarrowReaders {
  int products = 0;  // with a weight of bf16, as their input
  int fast = 0;      // of these, with a kernel that reads bf16
};

class NarrowRegion {
 public:
  NarrowRegion(ir::Module& module, ir::Method& method, const targets::Target& target, const ir::Graph& region,
               const passes::Options& options)
      : module_(module),
        method_(method),
        isa_(target.isa.empty() ? "generic" : target.isa),
        options_(options),
        uses_(ir::count_uses(method)) {
    for (NodeId id : region.nodes) {
      const Node& node = method.node(id);
      if (!is_float_product(node) || method.tensor(std::get<ValueId>(node.args[kMultiplier])).dtype != DType::kBF16)
        continue;
      products_.push_back(id);
      NarrowReaders& readers = readers_[std::get<ValueId>(node.args[kMultiplied])];
      ++readers.products;
      if (takes_narrow(node)) ++readers.fast;
    }
    for (const Argument& output : region.outputs) {
      ir::for_each_value(output, [&](const ValueId& value) { outputs_.insert(value); });
    }
  }

  bool run() {
    bool changed = false;
    for (NodeId id : products_) {
      Node& node = method_.node(id);
      const ResultReason reason = reason_of(node);
      passes::remark(options_, "precision", method_, node, to_string(reason));
      if (reason != ResultReason::kNarrowed) continue;
      method_.value(node.results[0]).tensor()->dtype = DType::kBF16;
      type_argument(node) = ir::Dim(static_cast<int64_t>(DType::kBF16));
      changed = true;
    }
    return changed;
  }

 private:
  ResultReason reason_of(const Node& node) const {
    const ValueId result = node.results[0];
    if (outputs_.count(result) != 0) return ResultReason::kOutput;
    if (!ir::is_none(node.args[kAdded])) return ResultReason::kResidual;
    const auto found = readers_.find(result);
    const NarrowReaders readers = found == readers_.end() ? NarrowReaders() : found->second;
    if (readers.products == 0 || readers.products != uses_[result]) return ResultReason::kReadWide;
    return readers.fast == readers.products && takes_narrow(node) ? ResultReason::kNarrowed : ResultReason::kNoEngine;
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
  const IdVector<ValueId, int> uses_;
  std::vector<NodeId> products_;
  std::map<ValueId, NarrowReaders> readers_;
  std::set<ValueId> outputs_;
};

}  // namespace

const char* to_string(ResultReason reason) {
  switch (reason) {
    case ResultReason::kNarrowed: return "result in bf16";
    case ResultReason::kOutput: return "result in f32: output";
    case ResultReason::kResidual: return "result in f32: residual";
    case ResultReason::kReadWide: return "result in f32: read-as-f32";
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
