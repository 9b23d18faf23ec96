// Fears about --why: that a pass has a name which it does not take, or that a name says nothing.
#include "compiler/why_names.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/compile.h"
#include "compiler/ir/parse.h"

namespace berth {
namespace {

// A delegate's own passes: y = relu(x * w), in one operator with the product.
constexpr const char* kModel = R"(
const @w: f32[3,4] = splat<0.5>

method forward(%x: f32[2,3]) {
  %w: f32[3,4] = const @w
  %p: f32[2,4] = aten::mm(%x, %w)
  %y: f32[2,4] = aten::relu(%p)
  return %y
}
)";

std::vector<std::string> why_lines(const std::string& name) {
  auto module = ir::parse(kModel, "why");
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return {};
  CompileOptions options;
  options.target = "cpu";
  options.why = {name};
  CompileReport report;
  const auto bytes = compile(std::move(*module), options, &report);
  EXPECT_TRUE(bytes.ok()) << bytes.error().text();
  return report.why;
}

bool all_begin(const std::vector<std::string>& lines, const std::string& word) {
  return std::all_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.rfind(word, 0) == 0; });
}

TEST(WhyNames, EveryPassHasOneNameThatWhyTakes) {
  const std::vector<std::string> names = why_names();
  for (const char* name : {"all", "reuse", "fusion", "simplify", "fold_batch_norm", "dce", "cse", "partition",
                           "insert_copies", "fuse_products", "pack_weights"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
}

// The command that repeats a failure names the pass that failed, which may be one of those that fuse.
TEST(WhyNames, AFusionPassReportsUnderItsOwnName) {
  const std::vector<std::string> products = why_lines("fuse_products");
  ASSERT_FALSE(products.empty());
  EXPECT_TRUE(all_begin(products, "fusion: ")) << products[0];
  EXPECT_TRUE(why_lines("fuse_lstm").empty());
}

TEST(WhyNames, ANameReportsNothingElse) {
  EXPECT_FALSE(why_lines("reuse").empty());
  for (const std::string name : {"reuse", "fusion", "partition"})
    EXPECT_TRUE(all_begin(why_lines(name), name + ": ")) << name;
}

}  // namespace
}  // namespace berth
