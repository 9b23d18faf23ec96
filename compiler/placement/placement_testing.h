// For tests of this room: IR text with delegates, and counting what became of it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text_testing.h"
#include "compiler/ir/verify_devices.h"
#include "compiler/passes/passes_testing.h"
#include "compiler/placement/graph_walk.h"
#include "compiler/placement/placement.h"

namespace berth::placement {

using passes::parsed;

inline Device cuda(int index) { return Device(DeviceType::kCuda, static_cast<DeviceIndex>(index)); }
inline Device sim(int index) { return Device(DeviceType::kSim, static_cast<DeviceIndex>(index)); }

/// `delegate @name` of a backend on `device`; none said when it is empty.
inline std::string delegate(const std::string& name, const std::string& device) {
  return filled(R"(
    delegate @$name "some" $specs
  )",
                {{"name", name}, {"specs", device.empty() ? "" : "{target_device = \"" + device + "\"}"}});
}

/// `%result = the sum of a and b`, all f32[2], by delegate @name.
inline std::string add_call(const std::string& result, const std::string& name, const std::string& a,
                            const std::string& b) {
  return filled(R"(
    %$result: f32[2] = berth::delegate([%$a, %$b]) @$name { (%$result.a: f32[2], %$result.b: f32[2])
      %$result.r: f32[2] = aten::add.Tensor(%$result.a, %$result.b, 1)
      yield %$result.r
    }
  )",
                {{"result", result}, {"name", name}, {"a", a}, {"b", b}});
}

inline Options options_of(const std::string& targets) {
  Options options;
  auto parsed_targets = targets::parse_targets(targets);
  EXPECT_TRUE(parsed_targets.ok()) << parsed_targets.error().text();
  if (parsed_targets.ok()) options.targets = std::move(*parsed_targets);
  return options;
}

/// The module after place(), which must succeed.
inline ir::Module placed(const std::string& text, const Options& options = {},
                         std::vector<std::string>* why = nullptr) {
  ir::Module module = parsed(text);
  passes::Options pass_options;
  pass_options.why = {"all"};
  pass_options.why_lines = why;
  pass_options.verify = true;
  const Status status = place(module, options, pass_options);
  EXPECT_TRUE(status.ok()) << status.error().text() << "\n" << ir::print(module);
  return module;
}

inline std::string error_of(const std::string& text, const Options& options) {
  ir::Module module = parsed(text);
  const Status status = place(module, options);
  return status.ok() ? "" : status.error().text();
}

/// What is in all methods, regions included.
struct Counts {
  int h2d = 0;
  int d2h = 0;
  int d2d = 0;
  int delegates = 0;

  friend bool operator==(const Counts& a, const Counts& b) {
    return a.h2d == b.h2d && a.d2h == b.d2h && a.d2d == b.d2d && a.delegates == b.delegates;
  }
  friend std::ostream& operator<<(std::ostream& out, const Counts& c) {
    return out << c.h2d << " h2d, " << c.d2h << " d2h, " << c.d2d << " d2d, " << c.delegates << " delegates";
  }
};

inline Counts count(const ir::Method& method) {
  Counts counts;
  ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
    for (ir::NodeId id : graph.nodes) {
      const ir::Node& node = method.node(id);
      counts.h2d += node.is(ir::OpId::h2d_copy_out) ? 1 : 0;
      counts.d2h += node.is(ir::OpId::d2h_copy_out) ? 1 : 0;
      counts.d2d += node.is(ir::OpId::d2d_copy_out) ? 1 : 0;
      counts.delegates += node.is(ir::OpId::delegate) ? 1 : 0;
    }
  });
  return counts;
}
inline Counts count(const ir::Module& module) { return count(module.methods[0]); }

/// The value called `name`.
inline const ir::Value* find_value(const ir::Method& method, const std::string& name) {
  for (const ir::Value& value : method.values) {
    if (value.name == name) return &value;
  }
  return nullptr;
}

/// Where the value called `name` lives; a device that there is not when there is no such tensor.
inline Device device_of(const ir::Module& module, const std::string& name, size_t method = 0) {
  const ir::Value* value = find_value(module.methods[method], name);
  EXPECT_TRUE(value != nullptr && value->tensor() != nullptr) << name << "\n" << ir::print(module);
  return value == nullptr || value->tensor() == nullptr ? Device(DeviceType::kSim, 99) : value->tensor()->device;
}

/// The body of the method, as text without regions: "operator(arguments) -> results" a line, in order.
inline std::vector<std::string> steps(const ir::Module& module, size_t m = 0) {
  const ir::Method& method = module.methods[m];
  std::vector<std::string> lines;
  for (ir::NodeId id : method.body.nodes) {
    const ir::Node& node = method.node(id);
    std::string line = node.op->functional_name + "(";
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(
          argument, [&](const ir::ValueId& v) { line += (line.back() == '(' ? "" : ", ") + method.value(v).name; });
    }
    line += ") ->";
    for (ir::ValueId v : node.results) line += " " + method.value(v).name;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace berth::placement
