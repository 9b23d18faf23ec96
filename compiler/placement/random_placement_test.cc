// Random graphs, placed at random: what they give stays the same, bit for bit, and the copies are as many as there are
// pairs of a value and a device that it crosses to. The pairs are counted by another walk than the pass's.
#include <cstdlib>
#include <map>
#include <set>

#include "compiler/ir/arguments.h"
#include "compiler/ir/random_steps_testing.h"
#include "compiler/placement/placement_testing.h"

namespace berth::placement {
namespace {

using ir::Argument;
using ir::OpId;
using ir::ValueId;

// Pairs (value, device) that a placed method's readers make necessary: who reads what where, copies looked through.
class Crossings {
 public:
  Crossings(const ir::Module& module, const ir::Method& method, const std::vector<Device>& outputs)
      : module_(module), method_(method) {
    walk(method.body);
    for (size_t k = 0; k < outputs.size(); ++k) read(method.body.outputs[k], outputs[k]);
  }

  size_t count() const { return pairs_.size(); }

 private:
  static std::string text(Device device) { return to_text(device).text; }

  ValueId origin(ValueId id) const {
    while (method_.value(id).kind == ir::ValueKind::kNode && is_copy(method_.node(method_.value(id).node))) {
      id = std::get<ValueId>(method_.node(method_.value(id).node).args[0]);
    }
    return id;
  }

  void read(const Argument& argument, Device device) {
    ir::for_each_value(argument, [&](const ValueId& id) {
      const ValueId from = origin(id);
      const ir::TensorType* type = method_.value(from).tensor();
      if (type == nullptr || type->device == device) return;
      pairs_.emplace(from.index, text(device));
      // Between kinds of devices the way is through the host.
      if (type->device.type != device.type && !type->device.is_cpu()) pairs_.emplace(from.index, text(Device()));
    });
  }

  void walk(const ir::Graph& graph) {
    for (ir::NodeId id : graph.nodes) {
      const ir::Node& node = method_.node(id);
      if (is_copy(node)) continue;
      Device device;
      if (node.is(OpId::state_write)) device = module_.states[{0}].type.device;
      if (is_delegate(node)) {
        const ir::Delegate& called = module_.delegates[node.delegate];
        if (!called.specs.empty())
          device = *berth::parse_device(called.specs[0].value.data(), called.specs[0].value.size());
      }
      if (is_delegate(node) || node.regions.empty()) {
        for (const Argument& argument : node.args) read(argument, device);
        continue;
      }
      // An `if`, or a scan of one carried value and perhaps one that it goes through and one that it stacks.
      const auto home = [&](ValueId value) { return method_.tensor(value).device; };
      if (node.is(OpId::scan)) read(node.args[arg::scan::carried], home(node.results[0]));
      if (node.is(OpId::scan) && node.results.size() == 2) {
        read(node.args[arg::scan::scanned], home(node.regions[0].inputs[1]));
      }
      for (const ir::Graph& region : node.regions) {
        walk(region);
        for (size_t k = 0; k < node.results.size(); ++k) read(region.outputs[k], home(node.results[k]));
      }
    }
  }

  const ir::Module& module_;
  const ir::Method& method_;
  std::set<std::pair<int32_t, std::string>> pairs_;
};

// Copies, those of one value to one device in both branches of an `if` counted once.
size_t distinct_copies(const ir::Method& method, const ir::Graph& graph) {
  std::set<std::pair<int32_t, std::string>> seen;
  size_t doubled = 0;
  ir::for_each_graph(method, graph, [&](const ir::Graph& g) {
    for (ir::NodeId id : g.nodes) {
      const ir::Node& node = method.node(id);
      if (!is_copy(node)) continue;
      ValueId from = std::get<ValueId>(node.args[0]);
      while (method.value(from).kind == ir::ValueKind::kNode && is_copy(method.node(method.value(from).node))) {
        from = std::get<ValueId>(method.node(method.value(from).node).args[0]);
      }
      if (!seen.emplace(from.index, to_text(method.tensor(node.results[0]).device).text).second) ++doubled;
    }
  });
  EXPECT_EQ(doubled, 0u) << "a value was copied twice to one device";
  return seen.size();
}

void check_placement(unsigned seed) {
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  ir::Module module = ir::testing::RandomModule(seed, ir::testing::vectors(seed)).make();
  const Status sound = ir::verify(module);
  ASSERT_TRUE(sound.ok()) << sound.error().text() << "\n" << ir::print(module);
  const std::string text = ir::print(module);
  const std::vector<eval::Item> inputs = passes::random_inputs(module, module.methods[0], seed);
  std::map<ir::StateId, eval::Array> states;
  eval::EvaluateOptions how;
  how.states = &states;
  const auto expected = eval::evaluate(module, module.methods[0], inputs, how);
  ASSERT_TRUE(expected.ok()) << expected.error().text() << "\n" << text;

  std::mt19937 random(seed);
  Options options = options_of("sim:0,sim:1,cuda:0,cpu");
  const Device devices[] = {sim(0), sim(1), cuda(0), Device()};
  const size_t used = 1 + random() % 4;
  std::map<int32_t, std::optional<Device>> chosen;
  for (size_t i = 0; i < module.methods[0].nodes.size(); ++i) {
    if (random() % 3 != 0) chosen[static_cast<int32_t>(i)] = devices[random() % used];
  }
  options.node_device = [&](const ir::Method& method, const ir::Node& node) -> std::optional<Device> {
    if (node.op->infer == nullptr) return std::nullopt;
    return chosen[static_cast<int32_t>(&node - &*method.nodes.begin())];
  };
  const ir::Method& method = module.methods[0];
  std::vector<Device> outputs;
  for (const Argument& output : method.body.outputs) {
    const ir::Value& value = method.value(std::get<ValueId>(output));
    if (random() % 4 == 0)
      options.device_io.push_back({value.name, devices[static_cast<size_t>(value.name.back()) % used]});
  }
  for (const char* name : {"x0", "x2", "x3"}) {
    const auto named = [&](const DeviceIo& io) { return io.name == name; };
    if (random() % 4 != 0 || std::any_of(options.device_io.begin(), options.device_io.end(), named)) continue;
    options.device_io.push_back({name, devices[random() % used]});
  }
  for (const Argument& output : method.body.outputs) {
    const std::string& name = method.value(std::get<ValueId>(output)).name;
    Device device;
    for (const DeviceIo& io : options.device_io) {
      if (io.name == name) device = io.device;
    }
    outputs.push_back(device);
  }

  const Status done = place(module, options);
  ASSERT_TRUE(done.ok()) << done.error().text() << "\n" << text << "\n" << ir::print(module);
  std::map<ir::StateId, eval::Array> states_after;
  how.states = &states_after;
  const auto found = eval::evaluate(module, module.methods[0], inputs, how);
  ASSERT_TRUE(found.ok()) << found.error().text() << "\n" << ir::print(module);
  for (size_t i = 0; i < expected->size(); ++i) passes::expect_close((*expected)[i], (*found)[i], 0);
  ASSERT_EQ(states.size(), states_after.size());
  EXPECT_EQ(states[{0}].bytes, states_after[{0}].bytes);
  for (size_t k = 0; k < outputs.size(); ++k) {
    const ValueId id = std::get<ValueId>(module.methods[0].body.outputs[k]);
    EXPECT_EQ(to_text(module.methods[0].tensor(id).device).text, std::string(to_text(outputs[k]).text));
  }
  EXPECT_EQ(distinct_copies(module.methods[0], module.methods[0].body),
            Crossings(module, module.methods[0], outputs).count());
  // And what prints, parses.
  const auto again = ir::parse(ir::print(module), "again");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(ir::print(*again), ir::print(module));
  if (::testing::Test::HasFailure()) FAIL() << text << "\nplaced\n" << ir::print(module);
}

TEST(RandomPlacement, KeepsOutputsAndCopiesWhatCrossesOnce) {
  if (const char* seed = std::getenv("BERTH_SEED")) return check_placement(static_cast<unsigned>(std::atoi(seed)));
  for (unsigned seed = 0; seed < 500 && !::testing::Test::HasFailure(); ++seed) check_placement(seed);
}

}  // namespace
}  // namespace berth::placement
