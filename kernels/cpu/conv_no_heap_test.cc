// What calls that are ready take from the heap: our own engine nothing, oneDNN's its some ten small blocks, none of
// which stays.

#include "kernels/cpu/conv.h"
#include "kernels/cpu/conv_engine.h"
#include "kernels/cpu/conv_testing.h"
#include "runtime/count_allocations_testing.h"

namespace berth::cpu {
namespace {

using testing::allocations;
using testing::Arg;
using testing::Array;
using testing::f32;
using testing::NoHeap;
using testing::Prepared;

constexpr size_t kOneDnnBlocks = 12;

// Allocations of one call, when some were made before.
size_t allocations_of(Prepared& call) {
  for (int i = 0; i < 2; ++i) EXPECT_EQ(call.run(), Error::kOk) << call.message();
  const size_t before = allocations;
  const Error error = call.run();
  const size_t after = allocations;
  EXPECT_EQ(error, Error::kOk);
  return after - before;
}

size_t allocations_of_conv(int32_t channels, int groups, const char* activation) {
  const std::vector<int64_t> one = {1, 1};
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  const Array input(DType::kF32, {1, channels, 14, 14}, std::vector<double>(static_cast<size_t>(channels) * 196), last);
  const Array out(DType::kF32, {1, channels, 14, 14}, {}, last);
  const Array weight = f32({channels, channels / groups, 3, 3},
                           std::vector<double>(static_cast<size_t>(channels * (channels / groups)) * 9));
  Prepared call(testing::kConv, {input, weight, nullptr, nullptr, one, one, one, false, std::vector<int64_t>{0, 0},
                                 groups, activation, 0.0, 0.0, "", out});
  EXPECT_EQ(call.error(), Error::kOk) << call.message();
  return allocations_of(call);
}

size_t allocations_of_linear() {
  const Array input = f32({40, 64}, std::vector<double>(40 * 64)), weight = f32({64, 80}, std::vector<double>(64 * 80));
  const Array out = f32({40, 80});
  Prepared call(testing::kLinear, {input, weight, nullptr, nullptr, "gelu", 0.0, 0.0, "", out});
  EXPECT_EQ(call.error(), Error::kOk) << call.message();
  return allocations_of(call);
}

TEST_F(NoHeap, OurConvolutionsTakeNothing) {
  set_preferred_engine(Prefer::kTiles);
  EXPECT_EQ(allocations_of_conv(32, 1, "relu"), 0u);
  EXPECT_EQ(allocations_of_conv(32, 32, "silu"), 0u);
  EXPECT_EQ(allocations_of_linear(), 0u);
  set_preferred_engine(Prefer::kFaster);
}

#ifdef BERTH_HIGHWAY
TEST_F(NoHeap, WinogradTakesNothing) {
  for (const Prefer prefer : {Prefer::kWinograd2, Prefer::kWinograd4}) {
    set_preferred_engine(prefer);
    EXPECT_EQ(allocations_of_conv(32, 1, "relu"), 0u);
    EXPECT_EQ(allocations_of_conv(32, 1, "silu"), 0u);
  }
  set_preferred_engine(Prefer::kFaster);
}
#endif

TEST_F(NoHeap, OneDnnTakesAFewSmallBlocks) {
  set_preferred_engine(Prefer::kOneDnn);
  EXPECT_LE(allocations_of_conv(32, 1, "relu"), kOneDnnBlocks);
  EXPECT_LE(allocations_of_conv(32, 32, "silu"), kOneDnnBlocks);
  EXPECT_LE(allocations_of_linear(), kOneDnnBlocks);
  RecordProperty("blocks", static_cast<int>(allocations_of_conv(32, 1, "relu")));
  set_preferred_engine(Prefer::kFaster);
}

}  // namespace
}  // namespace berth::cpu
