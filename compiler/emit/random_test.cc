// Random modules through the emitter: the file's own checks, which share no code with lifetimes or planners, must
// accept every one, under every planner; and planning may change where values lie, never what runs.
#include <random>

#include "compiler/emit/test_support.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/verify.h"

namespace berth::emit {
namespace {

using ir::OpId;
using ir::ValueId;

class RandomModule {
 public:
  explicit RandomModule(unsigned seed) : random_(seed) {}

  ir::Module make() {
    ir::Module module;
    ir::Method method;
    method.name = "forward";
    const ir::Dim n = symbolic_dim(module);
    const auto state_id = static_cast<ir::StateId>(pick(2));
    for (int s = 0; s < 2; ++s) module.states.push_back({"s" + std::to_string(s), type({4, 6}), {}});
    ir::Builder build(module, method, method.body);
    pool_ = {method.add_input(type({4, 6}), "x"), method.add_input(type({n, 24}), "z"),
             build.splat(DType::kF32, {ir::Dim(24)}, 2.0)};
    add_state_read(method, 0);
    add_state_read(method, 1);
    for (unsigned i = 0; i < 4 + pick(30); ++i) add_node(build);
    add_state_write(method, state_id);
    if (pick(2) == 0) add_state_write(method, 1 - state_id);
    for (unsigned i = 0; i < 1 + pick(4); ++i) method.body.outputs.push_back(any());
    module.methods.push_back(std::move(method));
    return module;
  }

 private:
  unsigned pick(size_t count) { return static_cast<unsigned>(random_() % count); }
  ValueId any() { return pool_[pick(pool_.size())]; }

  static ir::TensorType type(std::vector<ir::Dim> shape) {
    ir::TensorType type;
    type.shape = std::move(shape);
    return type;
  }

  ir::Dim symbolic_dim(ir::Module& module) {
    auto dim = module.symbols.input("n", 1, 5);
    return std::move(dim).value();
  }

  void keep(const Expected<std::vector<ValueId>>& results) {
    if (results.ok()) pool_.insert(pool_.end(), results->begin(), results->end());
  }

  /// A node; shapes that do not fit make none.
  void add_node(ir::Builder& build) {
    const ValueId x = any();
    const std::vector<ir::Dim> shape = build.method().tensor(x).shape;
    switch (pick(9)) {
      case 0: keep(build.create(OpId::relu_out, {x}, "relu")); break;
      case 1: keep(build.create(OpId::exp_out, {x}, "exp")); break;
      case 2: keep(build.create(OpId::add_out, {x, any()}, "add")); break;
      case 3: keep(build.create(OpId::view_copy_out, {x, ir::dims({6, -1})}, "reshape")); break;
      case 4: keep(build.create(OpId::view_copy_out, {x, ir::dims({-1})}, "flatten")); break;
      case 5: keep(build.create(OpId::unsqueeze_copy_out, {x, ir::Dim(0)}, "unsqueeze")); break;
      case 6: keep(build.create(OpId::cat_out, {ir::ValueList{x, x}, ir::Dim(0)}, "cat")); break;
      case 7:
        if (!shape.empty() && shape.back().is_constant() && shape.back().value > 0) {
          keep(build.create(OpId::max_dim_max, {x, ir::Dim(-1), true}, "max"));
          pool_.pop_back();  // indices are no floats
        }
        break;
      default: keep(build.create(OpId::alias_copy_out, {x}, "alias")); break;
    }
  }

  void add_state_node(ir::Method& method, OpId op, ir::StateId state, std::vector<ir::Argument> args) {
    ir::Node node;
    node.op = &ir::operator_of(op);
    node.args = std::move(args);
    node.state = state;
    const ir::NodeId id{static_cast<int32_t>(method.nodes.size())};
    if (op == OpId::state_read) {
      const ValueId value = method.add_value(type({4, 6}), "s");
      method.value(value).kind = ir::ValueKind::kNode;
      method.value(value).node = id;
      node.results.push_back(value);
      pool_.push_back(value);
    }
    method.nodes.push_back(std::move(node));
    method.body.nodes.push_back(id);
  }
  void add_state_read(ir::Method& method, ir::StateId state) { add_state_node(method, OpId::state_read, state, {}); }
  void add_state_write(ir::Method& method, ir::StateId state) {
    for (int tries = 0; tries < 20; ++tries) {
      const ValueId value = any();
      if (method.tensor(value) != type({4, 6})) continue;
      add_state_node(method, OpId::state_write, state, {value});
      return;
    }
  }

  std::mt19937 random_;
  std::vector<ValueId> pool_;
};

TEST(RandomModulesGiveSoundFiles, UnderEveryPlanner) {
  const unsigned first = std::random_device{}();
  for (unsigned seed = first; seed < first + 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ir::Module module = RandomModule(seed).make();
    const Status verified = ir::verify(module);
    ASSERT_TRUE(verified.ok()) << verified.error().text();
    std::string listing;
    for (const Planner planner : {Planner::kNaive, Planner::kGreedy, Planner::kBest}) {
      EmitOptions options;
      options.planner = planner;
      auto emitted = emit(module, options);
      ASSERT_TRUE(emitted.ok()) << emitted.error().text();
      testing::expect_sound_file(emitted->program);
      const std::string now = testing::listing(emitted->program.methods[0]);
      EXPECT_TRUE(listing.empty() || now == listing) << listing << "became\n" << now;
      listing = now;
    }
    ASSERT_FALSE(HasFailure());
  }
}

TEST(TheSameModuleGivesTheSameBytes, EveryTime) {
  for (unsigned seed = 1; seed < 20; ++seed) {
    const auto once = emit(RandomModule(seed).make());
    const auto again = emit(RandomModule(seed).make());
    ASSERT_TRUE(once.ok() && again.ok());
    const auto a = format::program_bytes(once->program);
    const auto b = format::program_bytes(again->program);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(*a, *b);
  }
}

}  // namespace
}  // namespace berth::emit
