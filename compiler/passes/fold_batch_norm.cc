#include "compiler/passes/fold_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "base/half.h"
#include "base/huge_page_buffer.h"
#include "compiler/ir/arguments.h"
#include "compiler/passes/affine.h"
#include "compiler/passes/rewrite.h"

namespace berth::passes {
namespace {

using ir::Argument;
using ir::Blob;
using ir::Constant;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::TensorType;
using ir::ValueId;

constexpr char kFoldBatchNorm[] = "fold_batch_norm";

// Elements as [outer][channel][inner]; those of a channel times its scale.
struct Layout {
  size_t outer = 1;
  size_t channels = 1;
  size_t inner = 1;
};

template <typename T>
void scale_as(uint8_t* bytes, const Layout& layout, const double* scale) {
  // Half and BFloat16 go through float on both ways.
  using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
  for (size_t row = 0; row < layout.outer * layout.channels; ++row) {
    const double factor = scale[row % layout.channels];
    for (size_t i = 0; i < layout.inner; ++i, bytes += sizeof(T)) {
      T element;
      std::memcpy(&element, bytes, sizeof element);
      element = T(static_cast<Real>(static_cast<double>(static_cast<Real>(element)) * factor));
      std::memcpy(bytes, &element, sizeof element);
    }
  }
}

void scale_elements(DType dtype, uint8_t* bytes, const Layout& layout, const double* scale) {
  switch (dtype) {
    case DType::kF64: return scale_as<double>(bytes, layout, scale);
    case DType::kF16: return scale_as<Half>(bytes, layout, scale);
    case DType::kBF16: return scale_as<BFloat16>(bytes, layout, scale);
    default: return scale_as<float>(bytes, layout, scale);
  }
}

// A convolution, product or norm whose weights can take a scale and a shift per channel.
struct Producer {
  NodeId node;
  bool norm = false;
  size_t weight = 0;    // its argument
  size_t bias = 0;      // likewise; of mm, which has none, no argument
  int channel_dim = 0;  // of its result
  int64_t channels = 0;
  NodeId view;  // between it and the reader; may be invalid
};

class NormFolder {
 public:
  NormFolder(ir::Module& module, ir::Method& method, const Options& options)
      : module_(module),
        method_(method),
        options_(options),
        uses_(ir::count_uses(method)),
        constant_uses_(count_constant_uses(module)) {}

  Expected<Action> visit(ir::Builder& build, NodeId id) {
    const Node& node = method_.node(id);
    Producer producer;
    ValueId input;
    for (const Argument& a : node.args) {
      const ValueId* value = std::get_if<ValueId>(&a);
      if (value != nullptr && find_producer(*value, &producer)) input = *value;
      if (input.valid()) break;
    }
    if (!input.valid() || node.results.empty()) return Action::keep();
    const int rank = method_.tensor(node.results[0]).rank();
    const int channel_dim = producer.channel_dim < 0 ? rank - 1 : producer.channel_dim;
    Affine affine;
    const AffineReason read = read_affine(module_, method_, node, channel_dim, producer.channels, &affine);
    if (read == AffineReason::kOther) return Action::keep();
    const FoldNormReason reason = decide(node, producer, input, affine, read);
    remark(options_, kFoldBatchNorm, method_, node, to_string(reason));
    if (reason != FoldNormReason::kFolded) return Action::keep();
    std::vector<ValueId> results(node.results.size());
    results[0] = input;
    // Readers of the result now read the producer's now.
    uses_[input] = uses_[node.results[0]];
    apply(build, producer, affine);
    return Action::replace(std::move(results));
  }

 private:
  int& uses(ValueId value) {
    if (!uses_.contains(value)) uses_.resize(method_.values.size());
    return uses_[value];
  }

  // What makes `value`, directly or through a view that keeps the last dimension.
  bool find_producer(ValueId value, Producer* out) const {
    const Node* node = defining_node(method_, value);
    if (node == nullptr) return false;
    NodeId id = method_.value(value).node;
    if (node->is(OpId::view_copy_out)) {
      const ir::ValueId source = std::get<ValueId>(node->args[arg::view_copy_out::self]);
      const Node* behind = defining_node(method_, source);
      const std::vector<ir::Dim>& viewed = method_.tensor(value).shape;
      const std::vector<ir::Dim>& shape = method_.tensor(source).shape;
      // A scalar, on either side, has no last dimension.
      if (behind == nullptr || viewed.empty() || shape.empty() || viewed.back() != shape.back()) return false;
      out->view = id;
      id = method_.value(source).node;
      node = behind;
    }
    const bool convolution = node->is(OpId::convolution_out) && !out->view.valid();
    const bool product = node->is(OpId::mm_out) || node->is(OpId::addmm_out);
    const bool norm = node->is(OpId::native_batch_norm_legit_no_training_out) && !out->view.valid();
    if ((!convolution && !product && !norm) || method_.value(value).result != 0) return false;
    const TensorType& type = method_.tensor(node->results[0]);
    const ir::Dim channels = type.shape[1];
    if (!channels.is_constant()) return false;
    out->node = id;
    out->norm = norm;
    out->channels = channels.value;
    out->channel_dim = product ? -1 : 1;
    out->weight = node->is(OpId::addmm_out) ? 2 : 1;
    out->bias = node->is(OpId::addmm_out) ? 0 : 2;
    return true;
  }

  FoldNormReason decide(const Node& node, const Producer& producer, ValueId input, const Affine& affine,
                        AffineReason read) {
    if (read == AffineReason::kNotConstant) return FoldNormReason::kNotConstant;
    if (read == AffineReason::kNotPerChannel || affine.input != input) return FoldNormReason::kNotPerChannel;
    for (size_t i = 1; i < node.results.size(); ++i) {
      if (uses(node.results[i]) > 0) return FoldNormReason::kResultShared;
    }
    if (method_.value(node.results[0]).type != method_.value(input).type) return FoldNormReason::kTypeDiffers;
    const Node& target = method_.node(producer.node);
    if (uses(input) != 1 || uses(target.results[0]) != 1) return FoldNormReason::kResultShared;
    if (producer.norm) return decide_norm(target);
    const Constant* weight = ir::constant_of(module_, method_, target.args[producer.weight]);
    if (weight == nullptr || !is_floating(weight->type.dtype)) return FoldNormReason::kNotConstant;
    if (!weight->type.is_contiguous()) return FoldNormReason::kNotConstant;
    if (affine.scales && uses(std::get<ValueId>(target.args[producer.weight])) != 1) {
      return FoldNormReason::kWeightShared;
    }
    const bool exact = affine.scales && is_of_integers(target.args[producer.weight - 1]) && is_whole(*weight);
    return exact ? FoldNormReason::kExactSum : decide_bias(target, producer);
  }

  // Whether `argument` is a few steps behind a conversion from integers, as the operands of integer products are.
  bool is_of_integers(const Argument& argument) const {
    constexpr int kSteps = 8;
    const Argument* from = &argument;
    for (int step = 0; step < kSteps; ++step) {
      const ValueId* value = std::get_if<ValueId>(from);
      const Node* node = value == nullptr || !value->valid() ? nullptr : defining_node(method_, *value);
      if (node == nullptr || node->args.empty()) return false;
      from = &node->args[0];
      const ValueId* source = std::get_if<ValueId>(from);
      const TensorType* type = source == nullptr ? nullptr : method_.value(*source).tensor();
      if (node->is(OpId::to_dim_order_copy_out) && type != nullptr && is_integer(type->dtype)) return true;
    }
    return false;
  }

  static bool is_whole(const Constant& weight) {
    const std::vector<double> numbers = numbers_of(weight);
    return std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == std::trunc(x); });
  }

  // A norm has a weight and a bias a channel, so nothing but their being known is asked for.
  FoldNormReason decide_norm(const Node& target) const {
    for (size_t i = 1; i < 3; ++i) {
      const bool known = ir::is_none(target.args[i]) || ir::constant_of(module_, method_, target.args[i]) != nullptr;
      if (!known) return FoldNormReason::kNotConstant;
    }
    return FoldNormReason::kFolded;
  }

  FoldNormReason decide_bias(const Node& target, const Producer& producer) const {
    if (target.is(OpId::mm_out)) return FoldNormReason::kFolded;
    if (target.is(OpId::addmm_out)) {
      for (size_t i = 3; i < 5; ++i) {
        if (uniform_number(module_, method_, target.args[i]) != 1.0) return FoldNormReason::kNoRoom;
      }
    }
    const Argument& bias = target.args[producer.bias];
    if (ir::is_none(bias)) return FoldNormReason::kFolded;
    const Constant* constant = ir::constant_of(module_, method_, bias);
    if (constant == nullptr) return FoldNormReason::kNotConstant;
    const bool row = constant->type.shape == std::vector<ir::Dim>{ir::Dim(producer.channels)};
    return row ? FoldNormReason::kFolded : FoldNormReason::kNoRoom;
  }

  void apply_to_norm(ir::Builder& build, const Producer& producer, const Affine& affine) {
    const DType dtype = method_.tensor(method_.node(producer.node).results[0]).dtype;
    for (size_t i = 1; i < 3; ++i) {
      const Argument old = method_.node(producer.node).args[i];
      const Constant* constant = ir::constant_of(module_, method_, old);
      std::vector<double> numbers(producer.channels, i == 1 ? 1.0 : 0.0);
      if (constant != nullptr) numbers = numbers_of(*constant);
      const std::string name = constant != nullptr ? constant->name : i == 1 ? "norm_weight" : "norm_bias";
      for (size_t c = 0; c < numbers.size(); ++c) {
        numbers[c] = numbers[c] * affine.scale[c] + (i == 2 ? affine.shift[c] : 0);
      }
      const ValueId value = row(build, dtype, numbers, name);
      uses(value) = 1;
      method_.node(producer.node).args[i] = value;
    }
  }

  void apply(ir::Builder& build, const Producer& producer, const Affine& affine) {
    if (producer.norm) return apply_to_norm(build, producer, affine);
    const ValueId weight = std::get<ValueId>(method_.node(producer.node).args[producer.weight]);
    const DType dtype = method_.tensor(weight).dtype;
    if (affine.scales) {
      const ValueId scaled = scale_weight(build, producer, weight, affine.scale);
      method_.node(producer.node).args[producer.weight] = scaled;
      uses(scaled) = 1;
    }
    std::vector<double> bias(producer.channels);
    std::string name = method_.value(weight).name + "_bias";
    const bool has_bias = !method_.node(producer.node).is(OpId::mm_out);
    if (has_bias) {
      const Argument old = method_.node(producer.node).args[producer.bias];
      if (const Constant* constant = ir::constant_of(module_, method_, old)) {
        bias = numbers_of(*constant);
        name = constant->name;
        --uses(std::get<ValueId>(old));
      }
    }
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = bias[i] * affine.scale[i] + affine.shift[i];
    const bool shifts = std::any_of(bias.begin(), bias.end(), [](double b) { return b != 0; });
    if (!has_bias && !shifts) return;
    const ValueId value = row(build, dtype, bias, name);
    uses(value) = 1;
    Node& target = method_.node(producer.node);
    if (has_bias) {
      target.args[producer.bias] = value;
      return;
    }
    target.op = &ir::operator_of(OpId::addmm_out);
    target.args = {value, target.args[arg::mm_out::self], target.args[arg::mm_out::mat2], ir::Dim(1), ir::Dim(1)};
  }

  static ValueId row(ir::Builder& build, DType dtype, const std::vector<double>& numbers, const std::string& name) {
    const ir::Dim count(static_cast<int64_t>(numbers.size()));
    return constant_of_numbers(build, dtype, {count}, {numbers.data(), numbers.size()}, name);
  }

  // A copy of the weight with every channel times its scale. The old one's memory is given back.
  ValueId scale_weight(ir::Builder& build, const Producer& producer, ValueId weight, const std::vector<double>& scale) {
    const Node& target = method_.node(producer.node);
    Constant& old = module_.constants[method_.value(weight).constant];
    const TensorType type = old.type;
    const std::string name = old.name;
    HugePageBuffer bytes;
    if (!bytes.allocate(old.blob.size())) throw std::bad_alloc();
    old.blob.read(0, {bytes.data(), bytes.size()});
    old.blob.release();
    const ir::ConstantId constant = method_.value(weight).constant;
    if (constant_uses_.contains(constant) && --constant_uses_[constant] == 0) old.blob = Blob();
    size_t inner = 1;
    for (size_t i = 2; i < type.shape.size(); ++i) inner *= type.shape[i].value;
    const size_t rows = type.shape[0].value;
    const size_t columns = type.shape[1].value;
    if (!target.is(OpId::convolution_out)) {  // [k, out]
      scale_elements(type.dtype, bytes.data(), {rows, columns, 1}, scale.data());
    } else if (!std::get<bool>(target.args[arg::convolution_out::transposed])) {  // [out, in / groups, …]
      scale_elements(type.dtype, bytes.data(), {1, rows, columns * inner}, scale.data());
    } else {  // [in, out / groups, …]
      const size_t groups = std::get<ir::Dim>(target.args[arg::convolution_out::groups]).value;
      for (size_t g = 0; g < groups; ++g) {
        scale_elements(type.dtype, bytes.data() + bytes.size() / groups * g, {rows / groups, columns, inner},
                       scale.data() + columns * g);
      }
    }
    return build.constant(type, Blob::owned_buffer(std::move(bytes)), name);
  }

  ir::Module& module_;
  ir::Method& method_;
  const Options& options_;
  IdVector<ValueId, int> uses_;
  IdVector<ir::ConstantId, int> constant_uses_;
};

}  // namespace

const char* to_string(FoldNormReason reason) {
  switch (reason) {
    case FoldNormReason::kFolded: return "folded";
    case FoldNormReason::kResultShared: return "keep: result-shared";
    case FoldNormReason::kWeightShared: return "keep: weight-shared";
    case FoldNormReason::kExactSum: return "keep: exact-sum";
    case FoldNormReason::kNotConstant: return "keep: not-constant";
    case FoldNormReason::kNotPerChannel: return "keep: not-per-channel";
    case FoldNormReason::kNoRoom: return "keep: no-room";
    case FoldNormReason::kTypeDiffers: return "keep: type-differs";
  }
  return "?";
}

Expected<Changed> fold_batch_norm(ir::Module& module, const Options& options) {
  if (!options.fusion) return Changed::kNo;
  Changed changed = Changed::kNo;
  for (ir::Method& method : module.methods) {
    NormFolder folder(module, method, options);
    BERTH_ASSIGN_OR_RETURN(const Changed one,
                           rewrite(module, method, [&](ir::Builder& build, NodeId id, bool*) -> Expected<Action> {
                             return folder.visit(build, id);
                           }));
    changed = changed | one;
  }
  if (changed == Changed::kYes) drop_unused_constants(module);
  return changed;
}

}  // namespace berth::passes
