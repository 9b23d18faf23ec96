// Bytes of an input that are written over its floats. The fear: an element that one thread overwrites before another,
// or the same one later, has read it.
#include "runtime/host/thread_pool.h"
#include "tests/end_to_end/compiled_testing.h"

namespace berth {
namespace {

constexpr int32_t kPicture[] = {1, 3, 96, 96};
constexpr size_t kPixels = 3 * 96 * 96;

constexpr char kBytesOfPicture[] = R"(
  delegate @d0 "berth.cpu"
  delegate @d1 "berth.cpu"
  method forward(%x: f32[1,3,96,96]) {
    %q: i8[1,3,96,96] = berth::delegate([%x]) @d0 { (%a: f32[1,3,96,96])
      %b: i8[1,3,96,96] = berth::elementwise([%a], [3, 0, 1, 0, 30, 4, 0, 0, 19, 5, 3, 2, 33, 6, 0, 0], [0.04, 127.0, -128.0])
      yield %b
    }
    %z: f32[1,3,1,1] = aten::amax(%x, [2, 3], true)
    %r: i8[1,3,96,96] = berth::delegate([%q]) @d1 { (%c: i8[1,3,96,96])
      %d: i8[1,3,96,96] = berth::elementwise([%c], [1, 0, 1, 0, 33, 2, 0, 0], [-3.0])
      yield %d
    }
    return %r, %z
  })";

/// The elements of all outputs in all runs, as bytes.
std::vector<uint8_t> results_of(const testing::Compiled& compiled, int threads) {
  HostThreadPool pool(threads);
  HostOptions options;
  options.pool = &pool;
  auto host = HostMethod::load(*compiled.program, "forward", options);
  EXPECT_TRUE(host.ok());
  std::vector<uint8_t> all;
  for (size_t run = 0; host.ok() && run < 4; ++run) {
    std::vector<float> pixels(kPixels);
    for (size_t i = 0; i < kPixels; ++i) pixels[i] = static_cast<float>((i * 7919 + run * 31) % 1009) / 50 - 9;
    EXPECT_EQ(host->method().set_input(0, pixels.data(), kPicture, DType::kF32), Error::kOk);
    EXPECT_EQ(host->execute(), Error::kOk) << host->method().last_report().message;
    for (size_t k = 0; k < 2; ++k) {
      const EValue value = host->method().get_output(k);
      const auto* bytes = static_cast<const uint8_t*>(value.tensor().raw());
      all.insert(all.end(), bytes, bytes + value.tensor().nbytes());
    }
  }
  return all;
}

TEST(NarrowedInput, GivesTheSameBitsAsBytesElsewhereOnAnyNumberOfThreads) {
  CompileOptions options;
  options.target = "cpu";
  const testing::Compiled front(kBytesOfPicture, options);
  options.in_place = false;
  const testing::Compiled elsewhere(kBytesOfPicture, options);
  const auto arena = [](const testing::Compiled& compiled) {
    return compiled.program->method_meta("forward")->memory_planned_buffer_size(0).value();
  };
  EXPECT_EQ(arena(elsewhere), arena(front) + kPixels) << "the bytes lie at the front of the floats";
  const std::vector<uint8_t> expected = results_of(elsewhere, 1);
  ASSERT_EQ(expected.size(), 4 * (kPixels + 3 * sizeof(float)));
  for (const int threads : {1, 3}) EXPECT_TRUE(results_of(front, threads) == expected) << threads << " threads";
}

}  // namespace
}  // namespace berth
