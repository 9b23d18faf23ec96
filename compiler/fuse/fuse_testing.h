// For the tests of this room: methods in text, fused as the region of a delegate of the cpu target, and run before and
// after. Not part of any library.
#pragma once

#include <string>
#include <vector>

#include "base/text_testing.h"
#include "compiler/fuse/fuse.h"
#include "compiler/passes/passes_testing.h"

namespace berth::fuse {

/// All of each method as the region of one delegate of "berth.cpu".
inline void delegate_all(ir::Module& module) {
  for (ir::Method& method : module.methods) {
    ir::Delegate delegate;
    delegate.name = "d" + std::to_string(module.delegates.size());
    delegate.backend = "berth.cpu";
    ir::Node call;
    call.op = &ir::operator_of(ir::OpId::delegate);
    call.delegate = module.delegates.next_id();
    module.delegates.push_back(delegate);
    const std::vector<ir::ValueId> given = method.body.inputs;
    IdVector<ir::ValueId, ir::ValueId> inside(method.values.size());
    ir::Graph region;
    for (ir::ValueId input : given) {
      const ir::Type type = method.value(input).type;
      const ir::ValueId inner = method.add_value(type, method.value(input).name + ".in");
      inside[input] = inner;
      region.inputs.push_back(inner);
    }
    ir::replace_values(method, inside);
    region.nodes = std::move(method.body.nodes);
    region.outputs = method.body.outputs;
    call.args.emplace_back(ir::ValueList(given));
    const ir::NodeId id = method.nodes.next_id();
    method.body.outputs.clear();
    for (const ir::Argument& output : region.outputs) {
      const ir::Type type = method.value(std::get<ir::ValueId>(output)).type;
      const ir::ValueId result = method.add_value(type, "out");
      ir::Value& value = method.value(result);
      value.kind = ir::ValueKind::kNode;
      value.node = id;
      value.result = static_cast<int>(call.results.size());
      call.results.push_back(result);
      method.body.outputs.emplace_back(result);
    }
    call.regions.push_back(std::move(region));
    method.nodes.push_back(std::move(call));
    method.body.nodes = {id};
  }
}

/// "--target cpu" with dense weights, which the evaluator runs.
inline Targets cpu_targets() {
  Targets targets = *targets::parse_targets("cpu");
  targets[0].isa.clear();
  return targets;
}

struct Fused {
  ir::Module module;
  std::vector<std::string> why;
  std::string text;

  /// The names of the operators in the regions that are not views, in order: "berth::conv berth::linear".
  std::string operators() const {
    std::string names;
    const ir::Method& method = module.methods[0];
    ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
      for (ir::NodeId id : graph.nodes) {
        const ir::Operator& op = *method.node(id).op;
        if (op.id == ir::OpId::delegate || op.is_reshape()) continue;
        names += (names.empty() ? "" : " ") + op.functional_name;
      }
    });
    return names;
  }
  /// How many of operators() have this name.
  size_t count(const std::string& name) const { return occurrences(" " + operators() + " ", " " + name + " "); }
  bool says(const std::string& reason) const {
    for (const std::string& line : why) {
      if (line.find(": " + reason) != std::string::npos) return true;
    }
    return false;
  }
};

/// Runs all passes of this room but packing on `before`, whose delegates are of "berth.cpu", and expects the outputs to
/// stay within `tolerance`, relative.
inline Fused fuse_delegates(ir::Module before, unsigned seed = 7, double tolerance = 1e-5) {
  Fused result;
  const std::string text = ir::print(before);
  const std::vector<eval::Item> inputs = passes::random_inputs(before, before.methods[0], seed);
  const auto expected = eval::evaluate(before, before.methods[0], inputs);
  EXPECT_TRUE(expected.ok()) << expected.error().text() << "\n" << text;
  const Targets targets = cpu_targets();
  passes::Options options;
  options.verify = true;
  options.why = {"fusion"};
  options.why_lines = &result.why;
  const Status done = passes::run(fuse_passes(targets), before, options);
  EXPECT_TRUE(done.ok()) << done.error().text() << "\n" << text;
  result.module = std::move(before);
  result.text = ir::print(result.module);
  if (!expected.ok() || !done.ok()) return result;
  const auto found = eval::evaluate(result.module, result.module.methods[0], inputs);
  EXPECT_TRUE(found.ok()) << found.error().text() << "\n" << result.text;
  if (!found.ok()) return result;
  EXPECT_EQ(expected->size(), found->size());
  for (size_t i = 0; i < expected->size(); ++i) passes::expect_close((*expected)[i], (*found)[i], tolerance);
  if (::testing::Test::HasFailure()) ADD_FAILURE() << text << "\nafter\n" << result.text;
  return result;
}

/// The same for a module without delegates: each of its methods becomes one.
inline Fused fuse_module(ir::Module before, unsigned seed = 7, double tolerance = 1e-5) {
  delegate_all(before);
  return fuse_delegates(std::move(before), seed, tolerance);
}

inline Fused fused(const std::string& text) { return fuse_module(passes::parsed(text)); }

/// A symbol and the ends of its range.
struct OpenSize {
  std::string name;
  int least, most;
};

/// Fuses a method of open sizes once, and expects its outputs to stay at every size of the ranges.
inline Fused fused_at_every_size(const std::vector<OpenSize>& ranges, const std::string& text,
                                 double tolerance = 1e-5) {
  std::string symbols;
  std::map<std::string, int> sizes;
  for (const OpenSize& range : ranges) {
    symbols +=
        "symbol " + range.name + " in [" + std::to_string(range.least) + ", " + std::to_string(range.most) + "]\n";
    sizes[range.name] = range.least;
  }
  const ir::Module before = passes::parsed(symbols + text);
  Fused result = fuse_module(passes::parsed(symbols + text), 7, tolerance);
  for (size_t next = 0; next < ranges.size();) {
    const std::vector<eval::Item> inputs = passes::random_inputs(before, before.methods[0], 11, sizes);
    const auto expected = eval::evaluate(before, before.methods[0], inputs);
    const auto found = eval::evaluate(result.module, result.module.methods[0], inputs);
    EXPECT_TRUE(expected.ok() && found.ok()) << (found.ok() ? expected : found).error().text();
    if (!expected.ok() || !found.ok()) return result;
    for (size_t k = 0; k < expected->size(); ++k) passes::expect_close((*expected)[k], (*found)[k], tolerance);
    // The next sizes, the first symbol's first.
    for (next = 0; next < ranges.size() && ++sizes[ranges[next].name] > ranges[next].most; ++next) {
      sizes[ranges[next].name] = ranges[next].least;
    }
  }
  if (::testing::Test::HasFailure()) ADD_FAILURE() << text << "\nafter\n" << result.text;
  return result;
}

/// The names and sizes of constants.
using Constants = std::vector<std::pair<std::string, std::vector<int>>>;

/// A method of `body`, in which constants of small numbers have their values: %w for the constant "w".
inline std::string with_constants(const Constants& constants, const std::string& signature, const std::string& body) {
  std::string declarations;
  std::string values;
  unsigned state = 1;
  for (const auto& [name, sizes] : constants) {
    std::string type;
    int count = 1;
    for (const int size : sizes) {
      type += (type.empty() ? "f32[" : ",") + std::to_string(size);
      count *= size;
    }
    type += "]";
    std::string numbers;
    for (int i = 0; i < count; ++i) {
      state = state * 1103515245 + 12345;
      numbers += (i == 0 ? "" : ", ") + std::to_string(static_cast<double>(state >> 20 & 255) / 256 - 0.4);
    }
    declarations += "const @" + name + ": " + type + " = dense<[" + numbers + "]>\n";
    values += "%" + name + ": " + type + " = const @" + name + "\n";
  }
  return filled(R"(
    $declarations
    method forward($signature) {
      $values
      $body
    })",
                {{"declarations", declarations}, {"signature", signature}, {"values", values}, {"body", body}});
}

inline const Constants kConvWeights = {{"w", {4, 3, 3, 3}}, {"b", {4}}};
inline const std::string kConv = R"(
  %c: f32[1,4,6,6] = aten::convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
)";

}  // namespace berth::fuse
