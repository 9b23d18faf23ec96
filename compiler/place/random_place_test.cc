// Random graphs, placed at random: what they give stays the same, bit for bit, and the copies are as many as there are
// pairs of a value and a device that it crosses to. The pairs are counted by another walk than the pass's.
#include <cstdlib>
#include <map>
#include <set>

#include "compiler/place/testing.h"

namespace berth::place {
namespace {

using ir::Argument;
using ir::OpId;
using ir::ValueId;

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  ir::Module make() {
    module_.methods.emplace_back();
    method().name = "forward";
    ir::TensorType type;
    type.shape = ir::dims({4});
    for (int i = 0; i < 3; ++i) outer_.push_back(method().add_input(type, "x" + std::to_string(i)));
    condition_ = method().add_input(ir::Type(ir::ScalarKind::kBool), "flag");
    if (pick(2) == 0) {
      module_.states.push_back({"k", type, std::nullopt});
      outer_.push_back(state(method().body, OpId::state_read, {}));
    }
    fill(method().body, outer_, 25, 0);
    if (!module_.states.empty()) state(method().body, OpId::state_write, {Argument(outer_.back())});
    for (int i = 0; i < 3; ++i) method().body.outputs.emplace_back(outer_[outer_.size() - 1 - pick(6)]);
    return std::move(module_);
  }

 private:
  ir::Method& method() { return module_.methods[0]; }
  size_t pick(size_t count) { return static_cast<size_t>(random_() % count); }

  ValueId state(ir::Graph& graph, OpId op, std::vector<Argument> args) {
    const ir::NodeId id = add(graph, op, std::move(args), op == OpId::state_read ? 1 : 0);
    method().node(id).state = 0;
    return op == OpId::state_read ? method().node(id).results[0] : ValueId();
  }

  // A node of the IR's own, whose results are all f32[4].
  ir::NodeId add(ir::Graph& graph, OpId op, std::vector<Argument> args, size_t results) {
    const ir::NodeId id{static_cast<int32_t>(method().nodes.size())};
    ir::Node node;
    node.op = &ir::operator_of(op);
    node.args = std::move(args);
    for (size_t i = 0; i < results; ++i) {
      ir::TensorType type;
      type.shape = ir::dims({4});
      node.results.push_back(method().add_value(type, ""));
      ir::Value& value = method().value(node.results.back());
      value.kind = ir::ValueKind::kNode;
      value.node = id;
      value.result = static_cast<int>(i);
    }
    method().nodes.push_back(std::move(node));
    graph.nodes.push_back(id);
    return id;
  }

  void fill(ir::Graph& graph, std::vector<ValueId>& values, int nodes, int depth) {
    for (int i = 0; i < nodes; ++i) {
      const size_t kind = pick(14);
      ir::Builder build(module_, method(), graph);
      if (kind == 0 && depth < 2) {
        values.push_back(branch(graph, values, depth));
      } else if (kind == 1 && depth < 2) {
        values.push_back(loop(graph, values, depth));
      } else if (kind < 5) {
        const ValueId c = build.splat(DType::kF32, ir::dims({4}), static_cast<double>(pick(3)));
        take(build.one(OpId::add_out, {recent(values), c, ir::Dim(1)}, "add"), values);
      } else if (kind < 9) {
        take(build.one(OpId::mul_out, {recent(values), recent(values)}, "mul"), values);
      } else {
        const OpId ops[] = {OpId::relu_out, OpId::tanh_out, OpId::neg_out, OpId::abs_out};
        take(build.one(ops[pick(4)], {recent(values)}, "unary"), values);
      }
    }
  }

  static void take(const Expected<ValueId>& value, std::vector<ValueId>& values) {
    ASSERT_TRUE(value.ok()) << value.error().text();
    values.push_back(*value);
  }

  ValueId recent(const std::vector<ValueId>& values) {
    return values[values.size() - 1 - pick(std::min<size_t>(values.size(), 7))];
  }

  ValueId branch(ir::Graph& graph, const std::vector<ValueId>& values, int depth) {
    std::vector<ir::Graph> regions(2);
    for (ir::Graph& region : regions) {
      std::vector<ValueId> inner = values;
      fill(region, inner, static_cast<int>(pick(5)), depth + 1);
      region.outputs.emplace_back(recent(inner));
    }
    const ir::NodeId id = add(graph, OpId::if_, {condition_}, 1);
    method().node(id).regions = std::move(regions);
    return method().node(id).results[0];
  }

  // Twice, carrying one value; reads the values around it, too.
  ValueId loop(ir::Graph& graph, const std::vector<ValueId>& values, int depth) {
    ir::TensorType type;
    type.shape = ir::dims({4});
    ir::Graph body;
    body.inputs.push_back(method().add_value(type, ""));
    std::vector<ValueId> inner = values;
    inner.push_back(body.inputs[0]);
    fill(body, inner, static_cast<int>(1 + pick(5)), depth + 1);
    body.outputs.emplace_back(recent(inner));
    const ir::NodeId id = add(graph, OpId::scan, {ir::Dim(2), ir::ValueList{recent(values)}, ir::ValueList{}}, 1);
    method().node(id).regions.push_back(std::move(body));
    return method().node(id).results[0];
  }

  std::mt19937 random_;
  ir::Module module_;
  std::vector<ValueId> outer_;
  ValueId condition_;
};

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
      if (node.is(OpId::state_write)) device = module_.states[0].type.device;
      if (is_delegate(node)) {
        const ir::Delegate& called = module_.delegates[static_cast<size_t>(node.delegate)];
        if (!called.specs.empty())
          device = *berth::parse_device(called.specs[0].value.data(), called.specs[0].value.size());
      }
      if (is_delegate(node) || node.regions.empty()) {
        for (const Argument& argument : node.args) read(argument, device);
        continue;
      }
      // An `if`, or a scan of one carried value.
      const Device there = method_.tensor(node.results[0]).device;
      if (node.is(OpId::scan)) read(node.args[1], there);
      for (const ir::Graph& region : node.regions) {
        walk(region);
        read(region.outputs[0], there);
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

void check(unsigned seed) {
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  ir::Module module = Generator(seed).make();
  ASSERT_FALSE(testing::Test::HasFatalFailure());
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
    return chosen[static_cast<int32_t>(&node - method.nodes.data())];
  };
  const ir::Method& method = module.methods[0];
  std::vector<Device> outputs;
  for (const Argument& output : method.body.outputs) {
    const ir::Value& value = method.value(std::get<ValueId>(output));
    if (random() % 4 == 0)
      options.device_io.push_back({value.name, devices[static_cast<size_t>(value.name.back()) % used]});
  }
  for (const char* name : {"x0", "x2"}) {
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
  EXPECT_EQ(states[0].bytes, states_after[0].bytes);
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
  if (testing::Test::HasFailure()) FAIL() << text << "\nplaced\n" << ir::print(module);
}

TEST(RandomPlacements, KeepOutputsAndCopyWhatCrossesOnce) {
  if (const char* seed = std::getenv("BERTH_SEED")) return check(static_cast<unsigned>(std::atoi(seed)));
  for (unsigned seed = 0; seed < 400 && !testing::Test::HasFailure(); ++seed) check(seed);
}

}  // namespace
}  // namespace berth::place
