#include "compiler/fuse/narrow_weights.h"

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "base/half.h"
#include "compiler/fuse/call_to_pack.h"

namespace berth::fuse {
namespace {

using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// As for cpu (kernels/cpu/packing.cc): the first convolution of images has so many.
constexpr int64_t kImageChannels = 4;

// Of the root of the sum of squares, what may be lost: rounding to bf16 alone loses up to a 2^-9 of each number.
constexpr double kMostLost = 1.0 / 256;

/// Narrow constants by the wide one and their type, f32 for scales that are rounded: of all methods, so that what they
/// share stays shared.
using Narrowed = std::map<std::pair<ir::ConstantId, DType>, ir::ConstantId>;

bool is_wide_product(const Node& node) {
  return node.is(OpId::mm_out) || node.is(OpId::addmm_out) || node.is(OpId::bmm_out) || node.is(OpId::convolution_out);
}

template <typename T>
PrecisionReason round_to(const std::vector<float>& wide, std::vector<uint8_t>* bytes) {
  bytes->resize(wide.size() * sizeof(T));
  double lost = 0;
  double all = 0;
  for (size_t i = 0; i < wide.size(); ++i) {
    const T narrow(wide[i]);
    std::memcpy(bytes->data() + i * sizeof(T), &narrow, sizeof(T));
    if (!std::isfinite(wide[i])) continue;
    const auto x = static_cast<double>(wide[i]);
    const auto y = static_cast<double>(static_cast<float>(narrow));
    if (!std::isfinite(y)) return PrecisionReason::kOverflow;
    all += x * x;
    lost += (x - y) * (x - y);
  }
  return lost > kMostLost * kMostLost * all ? PrecisionReason::kInexact : PrecisionReason::kNarrowed;
}

PrecisionReason reason_of(cpu::Narrowing narrowing) {
  switch (narrowing) {
    case cpu::Narrowing::kNarrow: return PrecisionReason::kNarrowed;
    case cpu::Narrowing::kNoEngine: return PrecisionReason::kNoEngine;
    case cpu::Narrowing::kDepthwise: return PrecisionReason::kDepthwise;
    case cpu::Narrowing::kFewChannels: return PrecisionReason::kFewChannels;
    case cpu::Narrowing::kFewerProducts: return PrecisionReason::kFewerProducts;
  }
  return PrecisionReason::kNoEngine;
}

class Narrower {
 public:
  Narrower(ir::Module& module, ir::Method& method, const targets::Target& target, const passes::Options& options,
           Narrowed* made)
      : module_(module), method_(method), target_(target), options_(options), made_(*made) {}

  bool visit(NodeId id) {
    const Node& node = method_.node(id);
    if (node.is(OpId::fused_lstm_out) || node.is(OpId::fused_lstm_cell_out)) return keep(node, PrecisionReason::kLstm);
    if (node.is(OpId::fused_gru_out)) return keep(node, PrecisionReason::kGru);
    if (is_wide_product(node)) return keep(node, PrecisionReason::kNotFused);
    if (node.is(OpId::fused_narrow_linear_out)) return round_scales(id);
    if (!node.is(OpId::fused_conv_out) && !node.is(OpId::fused_linear_out)) return false;
    // Kernels for tensors of 16 bits take weights in any order.
    const ir::Constant* weight = target_.narrow_tensors
                                     ? ir::constant_of(module_, method_, node.args[arg::fused_conv_out::weight])
                                     : dense_weight(module_, method_, node);
    if (weight == nullptr) return keep(node, PrecisionReason::kNotConstant);
    if (weight->type.dtype != DType::kF32) return keep(node, PrecisionReason::kAlready);
    const PrecisionReason worth = worth_of(node, *weight);
    const bool fewer = worth == PrecisionReason::kFewerProducts;
    if (worth != PrecisionReason::kNarrowed && !fewer) return keep(node, worth);
    // Winograd's kernels compute in f32: a weight of f16, which loading widens, keeps their input as it is.
    const DType type = fewer ? DType::kF16 : target_.weights;
    PrecisionReason reason = PrecisionReason::kNarrowed;
    const ir::ConstantId narrow = narrowed(node, *weight, type, &reason);
    if (reason != PrecisionReason::kNarrowed) return keep(node, reason);
    passes::remark(options_, "precision", method_, node,
                   to_string(type) + (fewer ? std::string(": ") + to_string(worth) : std::string()));
    const ValueId value = method_.constant_value(module_, narrow);
    method_.node(id).args[arg::fused_conv_out::weight] = value;
    return true;
  }

 private:
  // They stay f32 here: packing sees that all are numbers of f16 (kernels/cpu/packing_narrow.h).
  bool round_scales(NodeId id) {
    namespace at = arg::fused_narrow_linear_out;
    const Node& node = method_.node(id);
    const ir::Constant* scales = ir::constant_of(module_, method_, node.args[at::scales]);
    if (scales == nullptr || scales->type.dtype != DType::kF32) return keep(node, PrecisionReason::kNotConstant);
    const ir::ConstantId given = method_.value(std::get<ValueId>(node.args[at::scales])).constant;
    PrecisionReason reason = PrecisionReason::kNarrowed;
    const ir::ConstantId rounded = rounded_scales(given, *scales, &reason);
    if (reason != PrecisionReason::kNarrowed) return keep(node, reason);
    if (rounded == given) return keep(node, PrecisionReason::kAlready);
    passes::remark(options_, "precision", method_, node, to_string(DType::kF16));
    const ValueId value = method_.constant_value(module_, rounded);
    method_.node(id).args[at::scales] = value;
    return true;
  }

  // `given` where rounding changes nothing, or is not to be done for the `reason`.
  ir::ConstantId rounded_scales(ir::ConstantId given, const ir::Constant& scales, PrecisionReason* reason) {
    const auto made = made_.find({given, DType::kF32});
    if (made != made_.end()) return made->second;
    const std::vector<float> numbers = floats_of(scales);
    scales.blob.release();
    std::vector<uint8_t> halves;
    *reason = round_to<Half>(numbers, &halves);
    if (*reason != PrecisionReason::kNarrowed) return given;
    bool changed = false;
    std::vector<uint8_t> bytes(numbers.size() * sizeof(float));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const float number = Half(numbers[i]);
      changed = changed || number != numbers[i];
      std::memcpy(&bytes[i * sizeof number], &number, sizeof number);
    }
    ir::ConstantId rounded = given;
    if (changed) {
      rounded = module_.add_constant(scales.name + "_rounded", scales.type, ir::Blob::owned(std::move(bytes)));
    }
    made_.emplace(std::make_pair(given, DType::kF32), rounded);
    return rounded;
  }

  bool keep(const Node& node, PrecisionReason reason) const {
    passes::remark(options_, "precision", method_, node, to_string(reason));
    return false;
  }

  // Where any product takes a narrow weight, it is a matter of what is lost alone.
  PrecisionReason loss_of(const Node& node, const ir::Constant& weight) const {
    if (node.is(OpId::fused_linear_out)) return PrecisionReason::kNarrowed;
    const bool transposed = std::get<bool>(node.args[arg::fused_conv_out::transposed]);
    const int64_t groups = std::get<ir::Dim>(node.args[arg::fused_conv_out::groups]).value;
    const int64_t in_channels = weight.type.shape[transposed ? 0 : 1].value / (transposed ? groups : 1);
    if (groups > 1 && in_channels == 1) return PrecisionReason::kDepthwise;
    return in_channels <= kImageChannels ? PrecisionReason::kFewChannels : PrecisionReason::kNarrowed;
  }

  PrecisionReason worth_of(const Node& node, const ir::Constant& weight) const {
    if (target_.narrow_tensors) return loss_of(node, weight);
    const std::string isa = target_.isa.empty() ? "generic" : target_.isa;
    if (node.is(OpId::fused_conv_out)) {
      cpu::ConvToPack conv;
      if (!conv_to_pack(module_, method_, node, weight, &conv)) return PrecisionReason::kNoEngine;
      conv.weight_type = target_.weights;
      return reason_of(cpu::narrowing_of(conv, isa));
    }
    cpu::LinearToPack linear;
    if (!linear_to_pack(module_, method_, node, weight, &linear)) return PrecisionReason::kNoEngine;
    linear.weight_type = target_.weights;
    return reason_of(cpu::narrowing_of(linear, isa));
  }

  // The narrow constant of the node's weight, made once; `reason` when there is none.
  ir::ConstantId narrowed(const Node& node, const ir::Constant& weight, DType narrow_type, PrecisionReason* reason) {
    const ir::ConstantId wide = method_.value(std::get<ValueId>(node.args[arg::fused_conv_out::weight])).constant;
    const auto made = made_.find({wide, narrow_type});
    if (made != made_.end()) return made->second;
    std::vector<uint8_t> bytes;
    const std::vector<float> numbers = floats_of(weight);
    weight.blob.release();
    const bool half = narrow_type == DType::kF16;
    *reason = half ? round_to<Half>(numbers, &bytes) : round_to<BFloat16>(numbers, &bytes);
    if (*reason != PrecisionReason::kNarrowed) return wide;
    ir::TensorType type = weight.type;
    type.dtype = narrow_type;
    const ir::ConstantId narrow =
        module_.add_constant(weight.name + "_" + to_string(narrow_type), type, ir::Blob::owned(std::move(bytes)));
    made_.emplace(std::make_pair(wide, narrow_type), narrow);
    return narrow;
  }

  ir::Module& module_;
  ir::Method& method_;
  const targets::Target& target_;
  const passes::Options& options_;
  Narrowed& made_;
};

}  // namespace

const char* to_string(PrecisionReason reason) {
  switch (reason) {
    case PrecisionReason::kNarrowed: return "narrowed";
    case PrecisionReason::kAlready: return "already";
    case PrecisionReason::kNotConstant: return "not-constant";
    case PrecisionReason::kOverflow: return "overflow";
    case PrecisionReason::kInexact: return "inexact";
    case PrecisionReason::kDepthwise: return "depthwise";
    case PrecisionReason::kFewChannels: return "few-channels";
    case PrecisionReason::kFewerProducts: return "fewer-products";
    case PrecisionReason::kNoEngine: return "no-kernel";
    case PrecisionReason::kNotFused: return "not-fused";
    case PrecisionReason::kLstm: return "lstm";
    case PrecisionReason::kGru: return "gru";
  }
  return "?";
}

Expected<passes::Changed> narrow_weights(ir::Module& module, const Targets& targets, const passes::Options& options) {
  Narrowed made;
  return for_each_region(module, targets, [&](ir::Method& method, const targets::Target& target, ir::Graph& region) {
    bool changed = false;
    if (target.weights == DType::kF32) return Expected<bool>(false);
    Narrower narrower(module, method, target, options, &made);
    for (NodeId id : region.nodes) changed = narrower.visit(id) || changed;
    return Expected<bool>(changed);
  });
}

int64_t narrow_constant_bytes(const ir::Module& module) {
  std::set<ir::ConstantId> seen;
  int64_t bytes = 0;
  for (const ir::Method& method : module.methods) {
    ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
      for (NodeId id : graph.nodes) {
        const Node& node = method.node(id);
        if (!node.is(OpId::fused_conv_out) && !node.is(OpId::fused_linear_out)) continue;
        const auto* value = std::get_if<ValueId>(&node.args[arg::fused_conv_out::weight]);
        const ir::Constant* constant = ir::constant_of(module, method, node.args[arg::fused_conv_out::weight]);
        if (value == nullptr || constant == nullptr) continue;
        if (constant->type.dtype != DType::kBF16 && constant->type.dtype != DType::kF16) continue;
        if (seen.insert(method.value(*value).constant).second) bytes += static_cast<int64_t>(constant->blob.size());
      }
    });
  }
  return bytes;
}

}  // namespace berth::fuse
