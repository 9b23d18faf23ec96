#include "compiler/placement/size_carriers.h"

#include <gtest/gtest.h>

#include "compiler/ir/parse.h"

namespace berth::placement {
namespace {

struct Carried {
  std::vector<std::string> inputs;  // of the delegate, by name
  size_t unknown;
};

// Of a delegate of all nodes on `device`, whose inputs are the first `inputs` of the method's.
Carried carried(const std::string& text, size_t inputs, Device device = Device()) {
  const auto module = ir::parse(text, "test");
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().text());
  const Method& method = module->methods[0];
  std::vector<ValueId> own(method.body.inputs.begin(), method.body.inputs.begin() + static_cast<long>(inputs));
  const size_t unknown = add_size_carriers(*module, method, method.body.nodes, device, &own).size();
  Carried result{{}, unknown};
  for (const ValueId input : own) result.inputs.push_back(method.value(input).name);
  return result;
}

using Names = std::vector<std::string>;

constexpr char kOnes[] = R"(
  symbol n in [1, 8]
  method forward(%large: f32[n,1024], %small: f32[n], %other: f32[n,2]) {
    %y: f32[n] = aten::full([n], 1, f32)
    return %y
  })";

TEST(SizeCarriers, TheSmallestInputWithTheSizeCarriesIt) {
  const Carried found = carried(kOnes, 0, Device{DeviceType::kSim, 0});
  EXPECT_EQ(found.inputs, Names{"small"});
  EXPECT_EQ(found.unknown, 0u);
}

TEST(SizeCarriers, AnInputThatTheDelegateHasIsEnough) { EXPECT_EQ(carried(kOnes, 1).inputs, Names{"large"}); }

TEST(SizeCarriers, ASizeThatNoInputHasAsADimensionIsUnknown) {
  const Carried found = carried(R"(
    symbol n in [1, 8]
    method forward(%x: f32[(n * 2)]) {
      %y: f32[n] = aten::full([n], 1, f32)
      %z: f32[n] = aten::full([n], 2, f32)
      return %y, %z
    })",
                                1);
  EXPECT_EQ(found.inputs, Names{"x"});
  EXPECT_EQ(found.unknown, 2u) << "each node is named";
}

// The other sizes of a view say what the only one is that changes.
TEST(SizeCarriers, AViewNeedsNoSizeThatFollows) {
  const Carried found = carried(R"(
    symbol n in [1, 8]
    method forward(%x: f32[(n * 4)], %n: f32[n]) {
      %y: f32[n,4] = aten::view_copy(%x, [-1, 4])
      return %y
    })",
                                1);
  EXPECT_EQ(found.inputs, Names{"x"});
}

TEST(SizeCarriers, AViewOfTwoSizesNeedsBoth) {
  const Carried found = carried(R"(
    symbol n in [1, 8]
    symbol m in [1, 8]
    method forward(%x: f32[(n * m)], %n: f32[n], %m: f32[m]) {
      %y: f32[n,m] = aten::view_copy(%x, [n, m])
      return %y
    })",
                                1);
  EXPECT_EQ(found.inputs, (Names{"x", "n", "m"}));
}

}  // namespace
}  // namespace berth::placement
