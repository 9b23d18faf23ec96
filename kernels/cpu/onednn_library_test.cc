// The fears: every process pays for a oneDNN that it never calls; threads that want it at once open it twice; where it
// is gone, or another file has its name, a program stops, or its weights stay in a packing that only oneDNN reads.

#include "kernels/cpu/onednn_library.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "kernels/cpu/conv.h"
#include "kernels/cpu/conv_engine.h"
#include "kernels/cpu/conv_testing.h"
#include "kernels/cpu/packing.h"
#include "runtime/log.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::f32;
using testing::kConv;
using testing::Prepared;

// 3 x 3 taps over 28 x 28 pixels of 64 channels, with bias: with the channels innermost it is work for kernels of our
// own, and for oneDNN in images of one channel after the other.
constexpr int32_t kChannels = 64;
constexpr int32_t kPixels = 28;
enum ImageOrder { kOurs, kTheirs };
std::vector<uint8_t> order_of(ImageOrder order) {
  return order == kOurs ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{0, 1, 2, 3};
}

// How oneDNN 3.2 packs the weight, and how it packed that of eight groups, which were its work once.
constexpr const char* kPacking =
    "onednn 3.2.0 avx512 [64,64,3,3] dims [64,64,3,3] from [576,9,3,1] strides [576,9,3,1] blocks [] of []";
constexpr int kGroups = 8;
constexpr const char* kPackingOfGroups =
    "onednn 3.2.0 avx512 [64,8,3,3] dims [8,8,8,3,3] from [576,72,9,3,1] strides [576,576,576,192,64] blocks [8,8] of "
    "[2,1]";

struct Layer {
  explicit Layer(ImageOrder image_order, int group_count = 1)
      : order(image_order),
        groups(group_count),
        input(DType::kF32, {1, kChannels, kPixels, kPixels}, numbers(kChannels * kPixels * kPixels, 7),
              order_of(order)),
        weight(f32({kChannels, kChannels / groups, 3, 3}, numbers(kChannels * (kChannels / groups) * 9, 5))),
        bias(f32({kChannels}, numbers(kChannels, 3))) {}

  static std::vector<double> numbers(int count, int period) {
    std::vector<double> result(count);
    for (size_t i = 0; i < result.size(); ++i) {
      result[i] = static_cast<double>(i % static_cast<size_t>(period)) - period / 2;
    }
    return result;
  }
  Array result() const { return Array(DType::kF32, {1, kChannels, kPixels, kPixels}, {}, order_of(order)); }

  std::vector<Arg> args(const Array& given, const char* packing, const Array& out) const {
    const std::vector<int64_t> one = {1, 1}, none = {0, 0};
    return {input, given, bias, nullptr, one, one, one, false, none, groups, "relu", 0.0, 0.0, packing, out};
  }

  std::vector<double> expected() const {
    const Array out = result();
    EXPECT_EQ(testing::run(portable::fused_conv_out, args(weight, "", out), 4 << 20), Error::kOk);
    return out.values();
  }

  static void expect_near(const std::vector<double>& got, const std::vector<double>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    double largest = 0;
    for (size_t i = 0; i < got.size(); ++i) largest = std::max(largest, std::abs(got[i] - wanted[i]));
    EXPECT_LT(largest, 1e-3);
  }

  // Runs it on a weight packed so, or dense; gives the name of what ran.
  std::string run(const char* packing = "", int threads = 1) const {
    Array given = weight;
    if (*packing != 0) {
      DenseSizes dense;
      WeightLayout layout;
      EXPECT_TRUE(read_packing({packing, std::strlen(packing)}, &dense, &layout)) << packing;
      given = f32({static_cast<int32_t>(layout.packed_numel())});
      pack(layout, weight.tensor().data<float>(), given.tensor().data<float>());
    }
    const Array out = result();
    Prepared call(kConv, args(given, packing, out), threads);
    EXPECT_EQ(call.error(), Error::kOk) << call.message();
    EXPECT_EQ(call.run(), Error::kOk) << call.message();
    expect_near(out.values(), expected());
    return conv_engine(call.state());
  }

  bool pack_for(const char* isa, PackedWeight* packed) const {
    ConvToPack conv;
    conv.in_channels = conv.out_channels = kChannels;
    conv.groups = groups;
    conv.channels_last = order == kOurs;
    for (int i = 0; i < 2; ++i) {
      conv.in[i] = kPixels;
      conv.kernel[i] = 3;
      conv.padding[i] = 1;
    }
    conv.bias = true;
    conv.activation = "relu";
    return pack_conv(conv, weight.tensor().data<float>(), isa, packed);
  }

  ImageOrder order;
  int groups;
  Array input, weight, bias;
};

[[noreturn]] void run_and_leave(void (*body)()) {
  body();
  const ::testing::TestResult& result = *::testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int i = 0; i < result.total_part_count(); ++i) {
    if (result.GetTestPartResult(i).failed()) std::fputs(result.GetTestPartResult(i).summary(), stderr);
  }
  std::exit(result.Failed() ? 1 : 0);
}

// In a process of its own, for each looks for oneDNN once.
void expect_alone(void (*body)()) { EXPECT_EXIT(run_and_leave(body), ::testing::ExitedWithCode(0), ""); }

#ifndef BERTH_ONEDNN_LINKED

// Whether a file of this name is mapped into this process.
bool is_mapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  EXPECT_TRUE(maps.good());
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) != std::string::npos) return true;
  }
  return false;
}

int warnings = 0;
std::string warning;

void hear_warnings() {
  set_log(
      [](void*, LogLevel level, const char* text) {
        if (level != LogLevel::kWarning) return;
        ++warnings;
        warning = text;
      },
      nullptr);
}

TEST(OneDnnLibrary, OpensAtTheFirstCallThatUsesIt) {
  expect_alone([] {
    EXPECT_FALSE(onednn_is_open());
    EXPECT_FALSE(is_mapped("libdnnl")) << "before anything";
    const Layer ours(kOurs), theirs(kTheirs);
    PackedWeight packed;
    static_cast<void>(ours.pack_for("native", &packed));
#ifdef BERTH_HIGHWAY
    if (ours.run("", 2) == "onednn") return;  // a processor of narrow registers
    EXPECT_FALSE(onednn_is_open());
    EXPECT_FALSE(is_mapped("libdnnl")) << "a call for our own kernels";
    EXPECT_FALSE(is_mapped("libgomp")) << "a call for our own kernels";
#endif
    EXPECT_EQ(theirs.run(), "onednn");
    EXPECT_TRUE(onednn_is_open());
    EXPECT_TRUE(is_mapped("libdnnl"));
    EXPECT_EQ(onednn_missing(), "");
    EXPECT_EQ(onednn_source().rfind("onednn 3.", 0), 0u) << onednn_source();
  });
}

TEST(OneDnnLibrary, SettingLimitsOrPackingForOurKernelsDoesNotOpenIt) {
#ifdef BERTH_HIGHWAY
  expect_alone([] {
    PackedWeight packed;
    if (!Layer(kOurs).pack_for("avx2", &packed)) return;  // this machine cannot say
    EXPECT_FALSE(is_mapped("libdnnl"));
    EXPECT_FALSE(limit_onednn("avx512")) << "what was said once is not taken back";
    EXPECT_TRUE(limit_onednn("avx2"));
    EXPECT_FALSE(is_mapped("libdnnl"));
    // And keeps to that when it is opened.
    EXPECT_TRUE(Layer(kTheirs).pack_for("avx2", &packed));
    EXPECT_TRUE(is_mapped("libdnnl"));
    EXPECT_NE(packed.text.find(" avx2 "), std::string::npos) << packed.text;
    EXPECT_FALSE(limit_onednn("avx512"));
  });
#endif
}

TEST(OneDnnLibrary, OpensOnceForConcurrentThreads) {
  expect_alone([] {
    const OneDnn* seen[4] = {};
    std::vector<std::thread> threads;
    for (const OneDnn*& one : seen) threads.emplace_back([&one] { one = onednn(); });
    for (std::thread& thread : threads) thread.join();
    for (const OneDnn* one : seen) EXPECT_TRUE(one != nullptr && one == seen[0]);
  });
}

// What runs in its place gives the same numbers, whatever packed the weight; and it is told once, with the file's name.
void expect_fallback(const char* name, const std::string& why) {
  hear_warnings();
  open_onednn_as(name);
  const Layer theirs(kTheirs);
  EXPECT_NE(theirs.run(), "onednn");
  EXPECT_NE(theirs.run(kPacking, 2), "onednn");
  EXPECT_NE(Layer(kOurs, kGroups).run(kPackingOfGroups, 2), "onednn");
  PackedWeight packed;
  if (theirs.pack_for("native", &packed)) {
    EXPECT_EQ(packed.text.rfind("berth ", 0), 0u) << packed.text;
  }
  set_preferred_engine(Prefer::kOneDnn);
  EXPECT_EQ(theirs.run(), "portable");
  EXPECT_EQ(theirs.run(kPacking), "portable");
  EXPECT_EQ(onednn_openmp(), nullptr);
  EXPECT_FALSE(onednn_is_open());
  EXPECT_FALSE(onednn_is_used());
  EXPECT_EQ(onednn_source(), "");
  EXPECT_EQ(warnings, 1);
  EXPECT_NE(warning.find(name), std::string::npos) << warning;
  EXPECT_NE(warning.find(why), std::string::npos) << warning;
  EXPECT_NE(onednn_missing().find(why), std::string::npos) << onednn_missing();
}

TEST(OneDnnLibrary, WorksWithoutAMissingLibrary) {
  expect_alone([] { expect_fallback("libdnnl_of_nowhere.so.3", "cannot open shared object file"); });
}

TEST(OneDnnLibrary, WorksWithoutWhenAnotherFileHasItsName) {
  expect_alone([] { expect_fallback("libm.so.6", "dnnl_version"); });
}

TEST(OneDnnLibrary, WorksWithoutWhenTheVersionDiffers) {
  expect_alone([] { expect_fallback(BERTH_OLD_ONEDNN, "this is 2.7"); });
}

#endif

TEST(OneDnnLibrary, RunsWhatWasPackedForIt) {
  expect_alone([] {
    const Layer theirs(kTheirs);
    PackedWeight packed;
    ASSERT_TRUE(theirs.pack_for("native", &packed));
    EXPECT_EQ(theirs.run(packed.text.c_str()), theirs.run());
    EXPECT_EQ(theirs.run(kPacking), "onednn");
    const Layer groups(kOurs, kGroups);
    EXPECT_EQ(groups.run(kPackingOfGroups), groups.run());
  });
}

}  // namespace
}  // namespace berth::cpu
