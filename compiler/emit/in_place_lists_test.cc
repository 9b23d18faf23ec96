// Results in the bytes of one of several tensors that stand in a list: operators that take as many as there are.
#include "compiler/emit/in_place.h"
#include "compiler/emit/lifetimes.h"
#include "compiler/emit/test_support.h"

namespace berth::emit {
namespace {

using testing::only_method;
using testing::program_of;

struct Found {
  uint64_t bytes;
  std::string last;  // what `--why reuse` says of the last value
};

// A method whose last node is `%e`, of two inputs.
Found found(const std::string& body) {
  std::vector<std::string> lines;
  EmitOptions options = testing::as_written();
  options.why_reuse = &lines;
  const EmittedProgram emitted = program_of(
      "method forward(%a: f32[4,8], %b: f32[8]) {\n%c: f32[4,8] = aten::exp(%a)\n" + body + "return %e\n}\n", options);
  return {only_method(emitted).arenas.at(0).bytes, lines.back().substr(lines.back().find("): ") + 3)};
}

TEST(AResultTakesTheBytesOfATensorInAList, WhereThatIsReadLastAndNotStretched) {
  // x + y: the first is stretched, the second is not.
  const Found one = found("%e: f32[4,8] = berth::elementwise([%b, %c], [0, 0, 1, 0], [])\n");
  EXPECT_EQ(one.last, "reuse %c");
  EXPECT_EQ(one.bytes, 160u) << "one buffer of 128 bytes and one of 32";
}

TEST(AListsTensorsAreKept, WhereTheyAreReadLaterOrThroughAnotherName) {
  const Found later = found(
      "%d: f32[4,8] = berth::elementwise([%b, %c], [0, 0, 1, 0], [])\n"
      "%e: f32[4,8] = aten::add.Tensor(%c, %d)\n");
  EXPECT_EQ(later.last, "reuse %c");
  EXPECT_EQ(later.bytes, 288u) << "%c and %d are alive together";
  const Found viewed = found(
      "%d: f32[1,4,8] = aten::view_copy(%c, [1, 4, 8])\n"
      "%e: f32[1,4,8] = berth::elementwise([%c, %d], [0, 0, 1, 0], [])\n");
  EXPECT_EQ(viewed.last, "keep: %c size-differs, %d read-elsewhere");
}

}  // namespace
}  // namespace berth::emit
