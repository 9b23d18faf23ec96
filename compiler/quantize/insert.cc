#include "compiler/quantize/insert.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "compiler/ir/arguments.h"
#include "compiler/ir/builder.h"

namespace berth::quantize {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::None;
using ir::OpId;
using ir::ValueId;

Dim number_of(DType dtype) { return Dim(static_cast<int64_t>(dtype)); }

std::vector<float> floats_of(const ir::Blob& blob) {
  std::vector<float> floats(blob.size() / sizeof(float));
  const std::vector<uint8_t> bytes = blob.to_vector();
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

template <typename T>
ir::Blob blob_of(const std::vector<T>& elements) {
  std::vector<uint8_t> bytes(elements.size() * sizeof(T));
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  return ir::Blob::owned(std::move(bytes));
}

// Goes through the nodes of a method and appends them again with others between.
class Inserter {
 public:
  Inserter(ir::Module& module, ir::Method& method, const Choice& choice, const PointScales& scales,
           const Corrections& corrections)
      : module_(module),
        method_(method),
        build_(module, method, method.body),
        scales_(scales),
        corrections_(corrections) {
    for (const Layer& layer : choice.layers) layers_[layer.node] = &layer;
    for (const Point& point : choice.points) points_[point.value] = &point;
  }

  Status round_all() {
    const std::vector<NodeId> nodes = std::exchange(method_.body.nodes, {});
    for (ValueId input : std::vector<ValueId>(method_.body.inputs)) BERTH_TRY(round(input));
    for (NodeId id : nodes) {
      read_rounded(id);
      const auto layer = layers_.find(id);
      if (layer != layers_.end()) {
        const Node node = method_.node(id);
        BERTH_ASSIGN_OR_RETURN(const Operands operands, operands_of(*layer->second, node));
        // A product without a bias that gets one is another operator.
        if (operands.gains_bias) {
          BERTH_TRY(replace_product(id, operands));
          continue;
        }
        set_operands(*layer->second, operands, &method_.node(id).args);
      }
      method_.body.nodes.push_back(id);
      const std::vector<ValueId> results = method_.node(id).results;
      for (ValueId result : results) BERTH_TRY(round(result));
    }
    read_rounded_outputs();
    return Done{};
  }

  Expected<std::vector<ValueId>> layers_beside() {
    std::vector<ValueId> results;
    const std::vector<NodeId> nodes = std::exchange(method_.body.nodes, {});
    for (NodeId id : nodes) {
      method_.body.nodes.push_back(id);
      const auto found = layers_.find(id);
      if (found == layers_.end()) continue;
      const Layer& layer = *found->second;
      const Node node = method_.node(id);
      BERTH_ASSIGN_OR_RETURN(const Operands operands, operands_of(layer, node));
      std::vector<Argument> args = node.args;
      set_operands(layer, operands, &args);
      if (rounded_.count(layer.input) == 0) BERTH_TRY(append_pair(layer.input));
      args[layer.input_argument] = rounded_.at(layer.input);
      BERTH_ASSIGN_OR_RETURN(const ValueId result, build_.one(node.op->id, std::move(args), node.source));
      results.push_back(result);
    }
    return results;
  }

 private:
  struct Operands {
    ValueId weight;
    Argument bias;
    bool gains_bias = false;
  };

  const std::string& name(ValueId value) const { return method_.value(value).name; }

  // A value of these bytes.
  template <typename T>
  ValueId constant(DType dtype, std::vector<Dim> shape, const std::vector<T>& elements, const std::string& wish) {
    return build_.constant({dtype, std::move(shape), {}, {}}, blob_of(elements), wish);
  }

  Status append_pair(ValueId value) {
    const Scale& scale = scales_.at(value);
    const std::string wish = name(value);
    const std::vector<Argument> rest = {static_cast<double>(scale.scale), Dim(scale.zero_point), Dim(scale.low()),
                                        Dim(scale.high()), number_of(scale.dtype)};
    std::vector<Argument> args = {value};
    args.insert(args.end(), rest.begin(), rest.end());
    BERTH_ASSIGN_OR_RETURN(const ValueId integers, build_.one(OpId::quantize_per_tensor_out, args, "", wish + "_q"));
    args[0] = integers;
    BERTH_ASSIGN_OR_RETURN(rounded_[value], build_.one(OpId::dequantize_per_tensor_out, args, "", wish + "_8"));
    return Done{};
  }

  Status round(ValueId value) { return points_.count(value) == 0 ? Status(Done{}) : append_pair(value); }

  // What node `id` reads rounded.
  void read_rounded(NodeId id) {
    for (Argument& argument : method_.node(id).args) {
      ir::for_each_value(argument, [&](ValueId& value) {
        const auto rounded = rounded_.find(value);
        if (rounded == rounded_.end()) return;
        const Point& point = *points_.at(value);
        const bool reads =
            point.everywhere || std::find(point.readers.begin(), point.readers.end(), id) != point.readers.end();
        if (reads) value = rounded->second;
      });
    }
  }

  // An output keeps the name that it has.
  void read_rounded_outputs() {
    for (size_t k = 0; k < method_.body.outputs.size(); ++k) {
      ir::for_each_value(method_.body.outputs[k], [&](ValueId& value) {
        const auto rounded = rounded_.find(value);
        if (rounded == rounded_.end() || !points_.at(value)->everywhere) return;
        method_.output_names.resize(std::max(method_.output_names.size(), k + 1));
        if (method_.output_names[k].empty()) method_.output_names[k] = name(value);
        value = rounded->second;
      });
    }
  }

  // The rounded weight and bias of a layer.
  Expected<Operands> operands_of(const Layer& layer, const Node& node) {
    const ir::Constant& weight = module_.constants[layer.weight];
    const ir::TensorType type = weight.type;
    const std::string wish = weight.name;
    const std::vector<float> numbers = floats_of(weight.blob);
    const size_t channels = type.shape[layer.channels].value;
    const size_t inner = layer.channels == 0 ? numbers.size() / channels : 1;
    const float input_scale = scales_.at(layer.input).scale;
    Operands operands;
    const bool has_bias = !node.is(OpId::mm_out) && layer.takes_bias && !ir::is_none(node.args[layer.bias_argument]);
    std::vector<float> bias;
    if (has_bias) bias = floats_of(ir::constant_of(module_, method_, node.args[layer.bias_argument])->blob);
    const auto correction = corrections_.find(layer.node);
    if (correction != corrections_.end() && layer.takes_bias) {
      bias.resize(channels);
      for (size_t c = 0; c < channels; ++c) bias[c] += correction->second[c];
    }
    Weight rounded;
    if (!quantize_weight(numbers, numbers.size() / channels / inner, channels, inner, input_scale, bias, &rounded)) {
      return Failure{Error::kInvalidArgument, "layer " + layer.name, "has weights that are not finite numbers"};
    }
    BERTH_ASSIGN_OR_RETURN(operands.weight, rounded_weight(layer, rounded));
    operands.bias = layer.is_product && node.is(OpId::mm_out) ? Argument(None()) : node.args[layer.bias_argument];
    if (!bias.empty()) {
      operands.bias = constant(DType::kF32, {Dim(static_cast<int64_t>(channels))},
                               rounded_bias(bias, input_scale, rounded.scales), wish + "_bias");
      operands.gains_bias = node.is(OpId::mm_out);
    }
    return operands;
  }

  // The numbers that the integers stand for. Layers that share a weight share these.
  Expected<ValueId> rounded_weight(const Layer& layer, const Weight& rounded) {
    for (const Written& written : written_[layer.weight]) {
      const bool same = written.channels == layer.channels && written.weight.integers == rounded.integers &&
                        written.weight.scales == rounded.scales;
      if (same) return written.value;
    }
    const ir::TensorType type = module_.constants[layer.weight].type;
    const std::string wish = module_.constants[layer.weight].name;
    const ValueId integers = constant(DType::kI8, type.shape, rounded.integers, wish + "_q");
    const ValueId scales = constant(DType::kF32, {type.shape[layer.channels]}, rounded.scales, wish + "_scales");
    BERTH_ASSIGN_OR_RETURN(const ValueId value, build_.one(OpId::dequantize_per_channel_out,
                                                           {integers, scales, None(), Dim(layer.channels), Dim(-128),
                                                            Dim(127), number_of(DType::kI8)},
                                                           "", wish + "_8"));
    written_[layer.weight].push_back({layer.channels, rounded, value});
    return value;
  }

  static void set_operands(const Layer& layer, const Operands& operands, std::vector<Argument>* args) {
    (*args)[layer.weight_argument] = operands.weight;
    if (layer.bias_argument < args->size() && layer.bias_argument != layer.weight_argument &&
        layer.bias_argument != layer.input_argument) {
      (*args)[layer.bias_argument] = operands.bias;
    }
  }

  // mm with a bias is addmm, whose result takes the place and the name of mm's.
  Status replace_product(NodeId id, const Operands& operands) {
    const Node node = method_.node(id);
    BERTH_ASSIGN_OR_RETURN(
        const ValueId sum,
        build_.one(OpId::addmm_out, {operands.bias, node.args[arg::mm_out::self], operands.weight}, node.source));
    const ValueId old = node.results[0];
    const std::string own = name(old);
    // The value stays, so that all that reads it does; another node makes it.
    Node& made = method_.node(method_.value(sum).node);
    made.results[0] = old;
    method_.value(old).node = method_.value(sum).node;
    return round(old);
  }

  struct Written {
    int channels;
    Weight weight;
    ValueId value;
  };

  ir::Module& module_;
  ir::Method& method_;
  ir::Builder build_;
  const PointScales& scales_;
  const Corrections& corrections_;
  std::map<NodeId, const Layer*> layers_;
  std::map<ValueId, const Point*> points_;
  std::map<ir::ConstantId, std::vector<Written>> written_;
  std::map<ValueId, ValueId> rounded_;  // the rounded number of each value that was reached
};

}  // namespace

PointScales scales_of(const Choice& choice, const std::map<ir::ValueId, Range>& ranges, DType dtype) {
  PointScales scales;
  for (const Point& point : choice.points) {
    const auto shared = point.scale_of.valid() ? scales.find(point.scale_of) : scales.end();
    scales[point.value] = shared != scales.end() ? shared->second : scale_of(ranges.at(point.value), dtype);
  }
  return scales;
}

Status insert(ir::Module& module, ir::Method& method, const Choice& choice, const PointScales& scales,
              const Corrections& corrections) {
  return Inserter(module, method, choice, scales, corrections).round_all();
}

Expected<std::vector<ir::ValueId>> insert_beside(ir::Module& module, ir::Method& method, const Choice& choice,
                                                 const PointScales& scales) {
  return Inserter(module, method, choice, scales, {}).layers_beside();
}

}  // namespace berth::quantize
