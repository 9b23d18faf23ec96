// Sizes for runs without inputs. The fears: sizes that a relation forbids, small ones where large ones are allowed, a
// search that does not end.
#include "tools/largest_sizes.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "kernels/portable/portable.h"
#include "runtime/data_loader.h"
#include "runtime/program.h"

namespace berth::tool {
namespace {

// Of h and w, from 1 to 512.
std::vector<int32_t> sizes_where(const std::string& relations) {
  auto module = ir::parse("symbol h in [1, 512]\nsymbol w in [1, 512]\n" + relations + R"(
    method forward(%x: f32[h,w]) {
      %y: f32[h,w] = aten::neg(%x)
      return %y
    })");
  EXPECT_TRUE(module.ok()) << module.error().text();
  const auto bytes = compile(std::move(*module), {});
  EXPECT_TRUE(bytes.ok()) << bytes.error().text();
  BufferLoader loader{Span<const uint8_t>(*bytes)};
  const auto program = Program::load(loader, portable::kernels());
  EXPECT_TRUE(program.ok());
  const auto meta = program->method_meta("forward");
  EXPECT_TRUE(meta.ok());
  return largest_sizes(*meta)[0];
}

TEST(LargestSizes, AreTheLargestWhereNothingIsSaid) { EXPECT_EQ(sizes_where(""), (std::vector<int32_t>{512, 512})); }

TEST(LargestSizes, SumsAreShared) { EXPECT_EQ(sizes_where("where (h + w) <= 512"), (std::vector<int32_t>{256, 256})); }

TEST(LargestSizes, ProductsThatMustBeANumberAreThat) {
  for (const int product : {6000, 512, 511, 510 * 512, 2 * 257, 1}) {
    const std::vector<int32_t> sizes = sizes_where("where (h * w) == " + std::to_string(product));
    EXPECT_EQ(sizes[0] * sizes[1], product);
  }
  const std::vector<int32_t> most = sizes_where("where (h * w) <= 4096");
  EXPECT_LE(most[0] * most[1], 4096);
  EXPECT_GT(most[0] * most[1], 3600);
}

TEST(LargestSizes, QuotientsAndRemaindersOfProductsHold) {
  const std::vector<int32_t> sizes = sizes_where("where mod((h * w), 1000) == 75\nwhere floordiv((h * w), 1000) == 30");
  EXPECT_EQ(sizes[0] * sizes[1], 30075);
}

// A product of two primes that are too large for either.
TEST(LargestSizes, WhereThereAreNoneTheyStayTheLargest) {
  EXPECT_EQ(sizes_where("where (h * w) == " + std::to_string(521 * 3 * 5)), (std::vector<int32_t>{512, 512}));
}

}  // namespace
}  // namespace berth::tool
