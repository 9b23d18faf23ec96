#include "compiler/quantize/layers.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/arguments.h"
#include "compiler/passes/rewrite.h"

namespace berth::quantize {

using ir::Argument;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

bool is_f32(const ir::Method& method, ValueId value) {
  const ir::TensorType* type = value.valid() ? method.value(value).tensor() : nullptr;
  return type != nullptr && type->dtype == DType::kF32;
}

ValueId value_of(const Argument& argument) {
  const ValueId* value = std::get_if<ValueId>(&argument);
  return value == nullptr ? ValueId() : *value;
}

namespace {

// Whether `argument` is absent, or a constant of f32 with one number for each channel.
bool is_bias(const ir::Module& module, const ir::Method& method, const Argument& argument, ir::Dim channels) {
  if (ir::is_none(argument)) return true;
  const ir::Constant* bias = ir::constant_of(module, method, argument);
  return bias != nullptr && bias->type.dtype == DType::kF32 && bias->type.shape == std::vector<ir::Dim>{channels};
}

bool read_layer(const ir::Module& module, const ir::Method& method, NodeId id, Layer* layer) {
  const Node& node = method.node(id);
  const bool convolution = node.is(OpId::convolution_out);
  const bool sum = node.is(OpId::addmm_out);
  if (!convolution && !sum && !node.is(OpId::mm_out)) return false;
  if (convolution && std::get<bool>(node.args[arg::convolution_out::transposed])) return false;
  layer->node = id;
  layer->is_product = !convolution;
  layer->input_argument = sum ? size_t{arg::addmm_out::mat1} : 0;
  layer->weight_argument = sum ? size_t{arg::addmm_out::mat2} : 1;
  layer->bias_argument = sum ? size_t{arg::addmm_out::self} : size_t{arg::convolution_out::bias};
  layer->channels = convolution ? 0 : 1;
  layer->result_channels = convolution ? 1 : -1;
  layer->input = value_of(node.args[layer->input_argument]);
  const ir::Constant* weight = ir::constant_of(module, method, node.args[layer->weight_argument]);
  if (weight == nullptr || weight->type.dtype != DType::kF32 || !weight->type.is_contiguous()) return false;
  if (!is_f32(method, layer->input) || method.value(layer->input).kind == ir::ValueKind::kConstant) return false;
  if (weight->blob.size() < 2 * sizeof(float)) return false;
  layer->weight = method.value(value_of(node.args[layer->weight_argument])).constant;
  const ir::Dim channels = weight->type.shape[layer->channels];
  layer->takes_bias = node.is(OpId::mm_out) || is_bias(module, method, node.args[layer->bias_argument], channels);
  if (sum) {
    const auto is_one = [&](size_t k) { return passes::uniform_number(module, method, node.args[k]) == 1.0; };
    layer->takes_bias = layer->takes_bias && is_one(arg::addmm_out::beta) && is_one(arg::addmm_out::alpha);
  }
  layer->name = node.source.empty() ? method.value(node.results[0]).name : node.source;
  return true;
}

// The layers of recurrences: those that read what the same weight gave, with no other layer between, and those whose
// results enter between, such as the products of an LSTM's inputs.
class Recurrences {
 public:
  Recurrences(const ir::Method& method, const std::vector<Layer>& layers) : method_(method) {
    std::map<ir::ConstantId, int> uses;
    for (const Layer& layer : layers) {
      weights_[layer.node] = layer.weight;
      ++uses[layer.weight];
    }
    for (const Layer& layer : layers) {
      if (uses[layer.weight] < 2) continue;
      const std::set<ir::ConstantId> before = weights_before(layer);
      if (before.count(layer.weight) != 0) found_.insert(before.begin(), before.end());
    }
  }

  bool has(const Layer& layer) const { return found_.count(layer.weight) != 0; }

 private:
  // Of the layers that the input is made of, those first met going back.
  std::set<ir::ConstantId> weights_before(const Layer& layer) const {
    std::set<ir::ConstantId> weights;
    std::vector<ValueId> open = {layer.input};
    std::set<ValueId> seen;
    while (!open.empty() && seen.size() < kMostBetween) {
      const ValueId value = open.back();
      open.pop_back();
      const Node* node = passes::defining_node(method_, value);
      if (node == nullptr || !seen.insert(value).second) continue;
      const auto weight = weights_.find(method_.value(value).node);
      if (weight != weights_.end()) {
        weights.insert(weight->second);
        continue;
      }
      for (const Argument& argument : node->args) {
        ir::for_each_value(argument, [&](const ValueId& read) { open.push_back(read); });
      }
    }
    return weights;
  }

  static constexpr size_t kMostBetween = 64;
  const ir::Method& method_;
  std::map<NodeId, ir::ConstantId> weights_;
  std::set<ir::ConstantId> found_;
};

}  // namespace

std::vector<Layer> find_layers(const ir::Module& module, const ir::Method& method) {
  std::vector<Layer> layers;
  for (NodeId id : method.body.nodes) {
    Layer layer;
    if (read_layer(module, method, id, &layer)) layers.push_back(std::move(layer));
  }
  const Recurrences recurrences(method, layers);
  const auto in_one = [&](const Layer& layer) { return recurrences.has(layer); };
  layers.erase(std::remove_if(layers.begin(), layers.end(), in_one), layers.end());
  return layers;
}

}  // namespace berth::quantize
