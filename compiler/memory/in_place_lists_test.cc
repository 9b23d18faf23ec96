// Results in the bytes of one of several tensors that stand in a list: operators that take as many as there are.
#include "compiler/emit/emit_testing.h"
#include "compiler/memory/in_place.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;
using emit::EmittedProgram;

using testing::only_method;
using testing::program_of;

struct Found {
  uint64_t bytes;
  std::string last;  // what `--why reuse` says of the last value
};

// A method whose last node is `%e`, of two inputs.
Found found(const std::string& body) {
  const std::string text = R"(
    method forward(%a: f32[4,8], %b: f32[8]) {
      %c: f32[4,8] = aten::exp(%a)
  )" + body + R"(
    return %e
    })";
  return {only_method(program_of(text)).arenas.at(0).bytes, testing::why_of("e", text)};
}

TEST(InPlaceLists, AResultTakesTheBytesOfAListsTensorAtItsLastRead) {
  // x + y: the first is stretched, the second is not.
  const Found one = found("%e: f32[4,8] = berth::elementwise([%b, %c], [0, 0, 1, 0], [])");
  EXPECT_EQ(one.last, "reuse %c");
  EXPECT_EQ(one.bytes, 160u) << "one buffer of 128 bytes and one of 32";
}

TEST(InPlaceLists, AListsTensorThatIsReadLaterOrThroughAnAliasIsKept) {
  const Found later = found(R"(
    %d: f32[4,8] = berth::elementwise([%b, %c], [0, 0, 1, 0], [])
    %e: f32[4,8] = aten::add.Tensor(%c, %d)
  )");
  EXPECT_EQ(later.last, "reuse %c");
  EXPECT_EQ(later.bytes, 288u) << "%c and %d are live at once";
  const Found viewed = found(R"(
    %d: f32[1,4,8] = aten::view_copy(%c, [1, 4, 8])
    %e: f32[1,4,8] = berth::elementwise([%c, %d], [0, 0, 1, 0], [])
  )");
  EXPECT_EQ(viewed.last, "keep: %c size-differs, %d read-elsewhere");
}

}  // namespace
}  // namespace berth::memory
