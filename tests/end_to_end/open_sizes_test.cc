// Delegates whose memory follows the sizes of a call. The fears: an output that holds dead values before its own is
// given the bytes of its own sizes alone, which may be none; an input that is not yet set has a say in what sizes need;
// a size that is a maximum or a minimum is reckoned as something else; memory that grows from call to call.
#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/end_to_end/compiled_testing.h"

namespace berth {
namespace {

struct LoadedAtSize : testing::Compiled {
  explicit LoadedAtSize(const char* ir) : Compiled(ir, for_cpu()) {}

  static CompileOptions for_cpu() {
    CompileOptions options;
    options.target = "cpu";
    return options;
  }
  /// Sets an input to elements of this value.
  Error set(size_t index, const std::vector<int32_t>& sizes, float value) {
    size_t count = 1;
    for (const int32_t size : sizes) count *= size;
    const std::vector<float> data(count, value);
    return method().set_input(index, data.data(), sizes, DType::kF32);
  }
  /// The elements of an output.
  std::vector<float> get(size_t index) {
    const Tensor& tensor = method().get_output(index).tensor();
    return std::vector<float>(tensor.data<float>(), tensor.data<float>() + tensor.numel());
  }
  const char* said() const { return method().last_report().message; }
};

TEST(OpenSizes, AnOutputWithoutElementsIsStillScratchForWhatIsDeadBefore) {
  // The bool of one byte lies where %y does, which has no bytes for n = 0.
  LoadedAtSize loaded(R"(
    symbol n in [0, 5]
    method forward(%s: f32[], %x: f32[n,4]) {
      %c: bool[] = aten::gt.Scalar(%s, 1.0)
      %w: f32[] = aten::where.self(%c, %s, %s)
      %y: f32[n,4] = aten::neg(%x)
      return %w, %y
    })");
  for (const int32_t n : {5, 0, 1, 0}) {
    ASSERT_EQ(loaded.set(0, {}, 3), Error::kOk);
    ASSERT_EQ(loaded.set(1, {n, 4}, 2), Error::kOk);
    ASSERT_EQ(loaded.host->execute(), Error::kOk) << "n = " << n << ": " << loaded.said();
    EXPECT_EQ(loaded.get(0), std::vector<float>{3});
    EXPECT_EQ(loaded.get(1), std::vector<float>(static_cast<size_t>(n) * 4, -2)) << "n = " << n;
  }
}

TEST(OpenSizes, AnInputThatIsNotSetYetHasNoSizes) {
  // With n = 1, %z has no room for the sizes that it had at most, and m is not known.
  LoadedAtSize loaded(R"(
    symbol n in [1, 2]
    symbol m in [1, 2]
    method forward(%x: f32[n,4], %k: f32[2], %z: f32[m,n]) {
      %a: f32[n,4] = aten::neg(%x)
      %b: f32[2] = aten::neg(%k)
      %c: f32[m,n] = aten::neg(%z)
      return %a, %b, %c
    })");
  for (const auto& [n, m] : {std::pair<int32_t, int32_t>(1, 1), {2, 1}, {1, 2}, {2, 2}, {1, 1}}) {
    ASSERT_EQ(loaded.set(0, {n, 4}, 1), Error::kOk) << n << ", " << m << ": " << loaded.said();
    ASSERT_EQ(loaded.set(1, {2}, 2), Error::kOk) << n << ", " << m << ": " << loaded.said();
    ASSERT_EQ(loaded.set(2, {m, n}, 3), Error::kOk) << n << ", " << m << ": " << loaded.said();
    ASSERT_EQ(loaded.host->execute(), Error::kOk) << n << ", " << m << ": " << loaded.said();
    EXPECT_EQ(loaded.get(0), std::vector<float>(static_cast<size_t>(n) * 4, -1));
    EXPECT_EQ(loaded.get(2), std::vector<float>(static_cast<size_t>(n) * m, -3));
  }
}

TEST(OpenSizes, SizesThatAreMaximaAndMinimaHaveTheirRoom) {
  // At least three rows, as padding of 'same' convolutions makes them, and at most three.
  LoadedAtSize loaded(R"(
    symbol n in [1, 5]
    method forward(%x: f32[n,64]) {
      %y: f32[(n + max(((n * -1) + 3), 0)),64] = aten::constant_pad_nd(%x, [0, 0, 0, max(((n * -1) + 3), 0)], 7.0)
      %z: f32[min(n, 3),64] = aten::slice_copy.Tensor(%x, 0, 0, 3, 1)
      %w: f32[min(n, 3),64] = aten::neg(%z)
      return %y, %w
    })");
  for (const int32_t n : {5, 1, 3, 2, 4}) {
    ASSERT_EQ(loaded.set(0, {n, 64}, 1), Error::kOk) << loaded.said();
    ASSERT_EQ(loaded.host->execute(), Error::kOk) << "n = " << n << ": " << loaded.said();
    std::vector<float> rows(static_cast<size_t>(n) * 64, 1);
    rows.resize(std::max<size_t>(rows.size(), 3 * 64), 7);
    EXPECT_EQ(loaded.get(0), rows) << "n = " << n;
    // Of the input, the padded and the cut rows.
    const uint64_t row = 64 * sizeof(float);
    EXPECT_EQ(loaded.method().planned_bytes(size_t{0}).value(), (n + std::max(n, 3) + std::min(n, 3)) * row);
    EXPECT_EQ(loaded.get(1), std::vector<float>(std::min(n, 3) * 64, -1)) << "n = " << n;
  }
}

// KiB; 0 where the system does not say.
int64_t resident_kb() {
  std::ifstream status("/proc/self/status");
  int64_t kb = 0;
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") status >> kb;
  }
  return kb;
}

TEST(OpenSizes, TenThousandRandomSizesLeaveMemoryAsItWas) {
  LoadedAtSize loaded(R"(
    symbol n in [1, 700]
    symbol m in [1, 40]
    const @w: f32[32,64] = splat<0.5>
    method forward(%x: f32[m,n,32]) {
      %w: f32[32,64] = const @w
      %v: f32[(m * n),32] = aten::view_copy(%x, [(m * n), 32])
      %a: f32[(m * n),64] = aten::mm(%v, %w)
      %b: f32[m,n,64] = aten::view_copy(%a, [m, n, 64])
      %c: f32[m,64,n] = aten::transpose_copy.int(%b, 1, 2)
      %y: f32[m,64] = aten::mean.dim(%c, [2], false)
      return %y
    })");
  constexpr unsigned kSeed = 10;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  constexpr int kCalls = 10000, kEarly = 2000;
  int64_t before = 0;
  for (int i = 0; i < kCalls; ++i) {
    // Mostly small ones, so that pages are given back and taken again; memory is looked at where all of it is in use,
    // and not the first time: the test's own input is of the heap from the second time on (glibc's mmap threshold).
    const bool largest = i == kEarly - 1 || i == kEarly || i == kCalls - 1;
    const auto n = static_cast<int32_t>(largest ? 700 : 1 + random() % (random() % 50 == 0 ? 700 : 20));
    const auto m = static_cast<int32_t>(largest ? 40 : 1 + random() % (random() % 50 == 0 ? 40 : 3));
    ASSERT_EQ(loaded.set(0, {m, n, 32}, 1), Error::kOk) << loaded.said();
    ASSERT_EQ(loaded.host->execute(), Error::kOk) << m << ", " << n << ": " << loaded.said();
    ASSERT_EQ(loaded.get(0)[0], 16) << m << ", " << n;
    if (i == kEarly) before = resident_kb();
  }
  EXPECT_LE(resident_kb(), before + 256);
  ASSERT_EQ(loaded.set(0, {1, 1, 32}, 1), Error::kOk);
  EXPECT_LE(loaded.method().planned_bytes(size_t{0}).value(), 4096u);
}

}  // namespace
}  // namespace berth
