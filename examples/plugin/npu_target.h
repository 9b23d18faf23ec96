// The compiler's half of the imaginary accelerator: which nodes it takes, and what becomes of a region.
#pragma once

#include <map>

#include "npu_format.h"
#include "plugin/target.h"

namespace npu {

using berth::plugin::Graph;
using berth::plugin::Node;
using berth::plugin::Output;
using berth::plugin::refuse;
using berth::plugin::Specs;
using berth::plugin::Status;
using berth::plugin::Value;

class NpuTarget final : public berth::plugin::Target {
 public:
  NpuTarget() : Target("npu", "acme.npu", kDeviceType) {
    table_.alignment = 64;  // what its vector unit wants of inputs and outputs
    table_.padding = 32;    // and reads behind them
    table_.is_pure = 1;     // a call only computes its outputs
    table_.most_outputs = 4;
  }

  Status takes(const Node& node, const Specs& specs) override {
    const Op op = op_of(node);
    if (op == Op::kCount) return refuse("it has no " + std::string(node.op()));
    bool fits = node.result().is_plain(BERTH_F32);
    for (size_t i = 0; i < node.arguments_size(); ++i) {
      if (node.argument(i).kind() != BERTH_ARG_VALUE) continue;
      const Value value = node.argument(i).value();
      fits = fits && value.is_plain(BERTH_F32) && (op == Op::kMatrixProduct || value.repeats_in(node.result()));
    }
    if (!fits) return refuse("it takes contiguous floats of fixed sizes, repeated along the first dimensions alone");
    const std::string precision = specs.get("precision", "full");
    if (precision == "full" || precision == "low") return {};
    return {BERTH_INVALID_ARGUMENT, "precision is \"" + precision + "\"; expected full or low"};
  }

  Status preprocess(const Graph& region, const Specs& specs, Output& output) override {
    Compiler compiler(region, output);
    for (size_t i = 0; i < region.nodes_size(); ++i) compiler.add(region.node(i));
    compiler.finish(specs.get("precision", "full") == "low");
    return {};
  }

 private:
  // kCount: none.
  static Op op_of(const Node& node) {
    static const std::map<std::string_view, Op> known = {
        {"aten::add.Tensor", Op::kAdd}, {"aten::sub.Tensor", Op::kAdd}, {"aten::mul.Tensor", Op::kMultiply},
        {"aten::relu", Op::kRelu},      {"npu::clip", Op::kClip},       {"aten::mm", Op::kMatrixProduct}};
    const auto found = known.find(node.op());
    return found == known.end() ? Op::kCount : found->second;
  }

  // Gives every value of a region a place, and writes the steps.
  class Compiler {
   public:
    Compiler(const Graph& region, Output& output) : output_(output) {
      for (size_t i = 0; i < region.inputs_size(); ++i) place(region.input(i));
      for (size_t i = 0; i < region.outputs_size(); ++i) place(region.output(i));
    }

    void add(const Node& node) {
      Step step;
      step.op = op_of(node);
      const bool has_b = node.arguments_size() > 1 && node.argument(1).kind() == BERTH_ARG_VALUE;
      step.a = operand(node.argument(0).value());
      if (has_b) step.b = operand(node.argument(1).value());
      if (step.op == Op::kMatrixProduct) {
        step.inner = static_cast<uint32_t>(node.argument(0).value().size(1));
        step.columns = static_cast<uint32_t>(node.result().size(1));
      }
      step.scale = static_cast<float>(node.argument(step.op == Op::kClip ? "limit" : "alpha").number(1));
      if (node.op() == "aten::sub.Tensor") step.scale = -step.scale;
      step.out = operand(node.result());
      steps_.push_back(step);
    }

    void finish(bool low_precision) {
      const Header header = {kMagic, low_precision ? 1u : 0u};
      output_.payload(&header, sizeof header);
      output_.payload(steps_.data(), steps_.size() * sizeof(Step));
      if (scratch_ > 0) output_.scratch(scratch_);  // the argument after the outputs
    }

   private:
    void place(const Value& value) {
      places_[value.index()] = {Where::kArgument, arguments_++, 0, static_cast<uint64_t>(value.numel())};
    }

    Operand operand(const Value& value) {
      const auto known = places_.find(value.index());
      if (known != places_.end()) return known->second;
      const uint64_t floats = static_cast<uint64_t>(value.numel());
      if (value.is_constant()) {
        return places_[value.index()] = {Where::kBlob, 0, output_.blob(kBlobs, value.constant()), floats};
      }
      const size_t offset = scratch_;
      scratch_ += (floats * sizeof(float) + 63) / 64 * 64;
      return places_[value.index()] = {Where::kArgument, arguments_, offset, floats};
    }

    Output& output_;
    uint32_t arguments_ = 0;  // without the scratch
    std::vector<Step> steps_;
    std::map<int32_t, Operand> places_;
    size_t scratch_ = 0;
  };
};

}  // namespace npu
