// Chains of element-wise operators. The fears: a loop that is too long, time that grows faster than the chain.
#include "compiler/fuse/fuse_elementwise.h"

#include <pthread.h>

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

TEST(FuseElementwise, ChainsAreOneLoopUnlessTheyAreTooLong) {
  std::string chain;
  std::string last = "%x";
  for (int i = 0; i < 40; ++i) {
    const std::string next = "%v" + std::to_string(i);
    chain += next + ": f32[4,6] = aten::" + (i % 2 == 0 ? "tanh(" + last + ")" : "mul.Tensor(" + last + ", %g)") + "\n";
    last = next;
    if (i == 2) {
      const Fused three = fused("method forward(%x: f32[4,6], %g: f32[6]) {\n" + chain + "return " + last + "\n}\n");
      EXPECT_EQ(three.operators(), "berth::elementwise") << three.text;
    }
  }
  const Fused all = fused("method forward(%x: f32[4,6], %g: f32[6]) {\n" + chain + "return " + last + "\n}\n");
  EXPECT_EQ(all.operators(), "berth::elementwise berth::elementwise") << all.text;
}

// A step looks no further back than one loop is long: where each read all that is before it, a chain of 40 000 took
// 24 s, and a stack as deep as the chain, which is what shows here.
TEST(FuseElementwise, ChainsOfAnyLengthTakeLinearTime) {
  constexpr int kSteps = 64'000;
  std::string text = "method forward(%v0: f32[4]) {\n";
  for (int i = 0; i < kSteps; ++i) {
    text += "%v" + std::to_string(i + 1) + ": f32[4] = aten::tanh(%v" + std::to_string(i) + ")\n";
  }
  ir::Module module = passes::parsed(text + "return %v" + std::to_string(kSteps) + "\n}\n");
  delegate_all(module);
  pthread_attr_t small;
  pthread_attr_init(&small);
  ASSERT_EQ(pthread_attr_setstacksize(&small, size_t{256} << 10), 0);
  const auto fuse = [](void* of) -> void* {
    EXPECT_TRUE(passes::run(fuse_passes(cpu_targets()), *static_cast<ir::Module*>(of), passes::Options()).ok());
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &small, fuse, &module), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
  int loops = 0;
  ir::for_each_graph(module.methods[0], module.methods[0].body, [&](const ir::Graph& graph) {
    for (const ir::NodeId id : graph.nodes) loops += module.methods[0].node(id).is(ir::OpId::fused_elementwise_out);
  });
  EXPECT_EQ(loops, kSteps / 32);
}

}  // namespace
}  // namespace berth::fuse
