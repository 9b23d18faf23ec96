// The compiler's half of the imaginary accelerator: which nodes it takes, and what becomes of a region.
#pragma once

#include <algorithm>
#include <map>

#include "npu_format.h"
#include "plugin/target.h"

namespace npu {

using berth::plugin::Graph;
using berth::plugin::Node;
using berth::plugin::Output;
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
    Op op = Op::kAdd;
    if (!find_op(node.op(), &op)) return berth::plugin::refuse("it has no " + std::string(node.op()));
    for (size_t i = 0; i < node.arguments_size(); ++i) {
      if (node.argument(i).kind() != BERTH_ARG_VALUE) continue;
      if (!is_supported(node.argument(i).value())) return berth::plugin::refuse("not contiguous floats of fixed sizes");
    }
    if (!is_supported(node.result())) return berth::plugin::refuse("not contiguous floats of fixed sizes");
    if (node.op() == "aten::addmm" && (node.argument("beta").number() != 1 || node.argument("alpha").number() != 1)) {
      return berth::plugin::refuse("it does not scale matrix products");
    }
    const bool same_shape = op == Op::kRelu || op == Op::kMatrixProduct ||
                            node.argument("self").value().sizes() == node.result().sizes();
    const char* repeated = node.op() == "aten::addmm" ? "self" : op == Op::kRelu || op == Op::kMatrixProduct ? "" : "other";
    if (!same_shape || (*repeated != 0 && !repeats(node.argument(repeated).value(), node.result()))) {
      return berth::plugin::refuse("it repeats the second argument only, along the first dimensions");
    }
    const std::string precision = specs.get("precision", "full");
    if (precision != "full" && precision != "low") {
      return {BERTH_INVALID_ARGUMENT, "precision is \"" + precision + "\"; expected full or low"};
    }
    return {};
  }

  Status preprocess(const Graph& region, const Specs& specs, Output& output) override {
    Compiler compiler(region, output);
    for (size_t i = 0; i < region.nodes_size(); ++i) compiler.add(region.node(i));
    compiler.finish(specs.get("precision", "full") == "low");
    return {};
  }

 private:
  static bool find_op(std::string_view name, Op* op) {
    static const std::map<std::string_view, Op> known = {{"aten::add.Tensor", Op::kAdd},
                                                         {"aten::sub.Tensor", Op::kSubtract},
                                                         {"aten::mul.Tensor", Op::kMultiply},
                                                         {"aten::relu", Op::kRelu},
                                                         {"aten::mm", Op::kMatrixProduct},
                                                         {"aten::addmm", Op::kMatrixProduct}};
    const auto found = known.find(name);
    if (found != known.end()) *op = found->second;
    return found != known.end();
  }

  static bool is_supported(const Value& value) {
    return value.dtype() == BERTH_F32 && value.is_static() && value.is_contiguous() && value.numel() > 0;
  }

  // Whether the result's shape ends in that of `value`.
  static bool repeats(const Value& value, const Value& result) {
    const std::vector<int64_t> whole = result.sizes();
    std::vector<int64_t> part = value.sizes();
    while (!part.empty() && part.front() == 1) part.erase(part.begin());
    return part.size() <= whole.size() && std::equal(part.rbegin(), part.rend(), whole.rbegin());
  }

  // Gives every value of a region a place, and writes the steps.
  class Compiler {
   public:
    Compiler(const Graph& region, Output& output) : output_(output) {
      uint32_t argument = 0;
      for (size_t i = 0; i < region.inputs_size(); ++i) place(region.input(i), argument++);
      for (size_t i = 0; i < region.outputs_size(); ++i) place(region.output(i), argument++);
      header_.arguments = argument;
    }

    void add(const Node& node) {
      Step step;
      find_op(node.op(), &step.op);
      // aten::addmm(self, mat1, mat2) is a product, and a sum into it.
      const bool biased = node.op() == "aten::addmm";
      const size_t first = biased ? 1 : 0;
      step.a = operand(node.argument(first).value());
      if (step.op != Op::kRelu) step.b = operand(node.argument(first + 1).value());
      if (step.op == Op::kMatrixProduct) {
        step.rows = static_cast<uint32_t>(node.argument(first).value().size(0));
        step.inner = static_cast<uint32_t>(node.argument(first).value().size(1));
        step.columns = static_cast<uint32_t>(node.argument(first + 1).value().size(1));
      }
      step.scale = static_cast<float>(node.argument("alpha").number(1));
      step.out = operand(node.result());
      steps_.push_back(step);
      if (!biased) return;
      step.op = Op::kAdd;
      step.a = step.out;
      step.b = operand(node.argument("self").value());
      steps_.push_back(step);
    }

    void finish(bool low_precision) {
      // The scratch is the argument after the outputs.
      if (scratch_ > 0) {
        output_.scratch(scratch_);
        ++header_.arguments;
      }
      header_.steps = static_cast<uint32_t>(steps_.size());
      header_.low_precision = low_precision ? 1 : 0;
      output_.payload(&header_, sizeof header_);
      output_.payload(steps_.data(), steps_.size() * sizeof(Step));
    }

   private:
    void place(const Value& value, uint32_t argument) {
      places_[value.index()] = {Where::kArgument, argument, 0, static_cast<uint64_t>(value.numel())};
    }

    Operand operand(const Value& value) {
      const auto known = places_.find(value.index());
      if (known != places_.end()) return known->second;
      Operand& made = places_[value.index()];
      made.floats = static_cast<uint64_t>(value.numel());
      if (value.is_constant()) {
        made.where = Where::kBlob;
        made.index = hash(value.constant());
        output_.named_data(blob_key(made.index).c_str(), value.constant().data, value.constant().size);
      } else {
        made.index = header_.arguments;
        made.offset = scratch_;
        scratch_ += (made.floats * sizeof(float) + 63) / 64 * 64;
      }
      return made;
    }

    // FNV-1a. Two constants that collide are an error of the compilation: one key has one blob.
    static uint32_t hash(berth_bytes bytes) {
      uint32_t h = 2166136261u;
      for (size_t i = 0; i < bytes.size; ++i) h = (h ^ static_cast<const uint8_t*>(bytes.data)[i]) * 16777619u;
      return h;
    }

    Output& output_;
    Header header_;
    std::vector<Step> steps_;
    std::map<int32_t, Operand> places_;
    size_t scratch_ = 0;
  };
};

}  // namespace npu
