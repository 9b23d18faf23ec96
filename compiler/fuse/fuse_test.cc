// The passes of this room together: what they leave alone.
#include "compiler/fuse/fuse.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

TEST(Fuse, OtherBackendsDelegatesAreUntouched) {
  ir::Module module = passes::parsed(with_constants({{"w", {3, 5}}}, "%x: f32[4,3]", R"(
    %m: f32[4,5] = aten::mm(%x, %w)
    %y: f32[4,5] = aten::relu(%m)
    return %y
  )"));
  const std::string plain = ir::print(module);
  const Targets targets = cpu_targets();
  ASSERT_TRUE(passes::run(fuse_passes(targets), module, {}).ok());
  EXPECT_EQ(ir::print(module), plain) << "outside of delegates";
  delegate_all(module);
  module.delegates[{0}].backend = "berth.cuda";
  const std::string foreign = ir::print(module);
  ASSERT_TRUE(passes::run(fuse_passes(targets), module, {}).ok());
  EXPECT_EQ(ir::print(module), foreign);
}

TEST(Fuse, FusedOperatorsOutsideDelegatesAreRefusedByName) {
  const ir::Module module = passes::parsed(R"(
    method forward(%x: f32[4]) {
      %y: f32[4] = berth::elementwise([%x], [18, 0, 0, 0], [])
      return %y
    })");
  const Status outside = check_outside(module);
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.error().code, Error::kNotSupported);
  EXPECT_NE(outside.error().place.find("berth::elementwise (%y)"), std::string::npos);
}

}  // namespace
}  // namespace berth::fuse
