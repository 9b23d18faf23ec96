// What a node takes, and who waits for it. The fear: an order that counts on a host that goes on where it does not.
#include "compiler/node_times.h"

#include <gtest/gtest.h>

#include "base/text_testing.h"
#include "compiler/ir/parse.h"

namespace berth {
namespace {

// Of the first node.
scheduling::TaskTime time_of(const std::string& text, const std::string& kind) {
  auto module = ir::parse(filled(text, {{"kind", kind}}));
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return {};
  const auto times = NodeTimes::make(*module, {}, {});
  EXPECT_TRUE(times.ok()) << times.error().text();
  if (!times.ok()) return {};
  const ir::Method& method = module->methods[0];
  return (*times)(method, method.node(method.body.nodes[0]));
}

scheduling::TaskTime copy_between(const std::string& kind) {
  return time_of(R"(
    method forward(%x: f32[1024]@$kind:0) {
      %y: f32[1024]@$kind:1 = berth::_d2d_copy(%x)
      return %y
    })",
                 kind);
}

scheduling::TaskTime copy_to_host(const std::string& kind) {
  return time_of(R"(
    method forward(%x: f32[1024]@$kind:0) {
      %y: f32[1024] = et_copy::_d2h_copy(%x)
      return %y
    })",
                 kind);
}

TEST(NodeTimes, TheHostGoesOnWhereCopiesToItAreBegun) {
  for (const char* kind : {"sim", "cuda"}) EXPECT_FALSE(copy_to_host(kind).host_waits) << kind;
  EXPECT_TRUE(copy_to_host("vulkan").host_waits);
}

TEST(NodeTimes, TheHostWaitsForCopiesBetweenDevicesThatGoThroughItsMemoryAlone) {
  for (const char* kind : {"sim", "cuda"}) EXPECT_FALSE(copy_between(kind).host_waits) << kind;
  const scheduling::TaskTime vulkan = copy_between("vulkan");
  EXPECT_TRUE(vulkan.host_waits);
  EXPECT_NE(vulkan.other, scheduling::kHost);
  const double bytes = 4096;
  const placement::DeviceCosts costs = *placement::costs_of("vulkan:0", {});
  const double both = seconds_of(costs.from_device, bytes) + seconds_of(costs.to_device, bytes);
  EXPECT_NEAR(static_cast<double>(vulkan.nanoseconds), both * 1e9, 1) << "one after the other";
}

}  // namespace
}  // namespace berth
