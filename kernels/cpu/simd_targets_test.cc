// Which instruction sets are used. The fear: one that the processor lacks, which ends the process, or none of those
// that it has. Linux says which these are.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace berth::cpu {
namespace {

std::set<std::string> flags_of_processor() {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; flags.empty() && std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) flags.insert(word);
  }
  return flags;
}

TEST(SimdTargets, AreThoseOfTheProcessor) {
  const std::set<std::string> flags = flags_of_processor();
  if (!HWY_ARCH_X86 || flags.empty()) GTEST_SKIP() << "it is unknown what this processor has";
#if HWY_ARCH_X86
  const auto has = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (flags.count(name) == 0) return false;
    }
    return true;
  };
  const bool sse4 = has({"ssse3", "sse4_1", "sse4_2", "pclmulqdq", "aes"});
  const bool avx2 = sse4 && has({"avx", "avx2", "bmi1", "bmi2", "fma", "f16c"});
  const bool avx3 = avx2 && has({"avx512f", "avx512vl", "avx512dq", "avx512bw"});
  const int64_t found = hwy::SupportedTargets();
  EXPECT_EQ((found & HWY_SSE4) != 0, sse4);
  EXPECT_EQ((found & HWY_AVX2) != 0, avx2);
  EXPECT_EQ((found & HWY_AVX3) != 0, avx3);
  EXPECT_NE(found & HWY_SCALAR, 0);
#endif
}

TEST(SimdTargets, CanBeLimitedAndRestored) {
  const int64_t found = hwy::SupportedTargets();
  hwy::SetSupportedTargetsForTest(HWY_SCALAR);
  EXPECT_FALSE(hwy::GetChosenTarget().IsInitialized());
  EXPECT_EQ(hwy::SupportedTargets(), int64_t{HWY_SCALAR});
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  EXPECT_TRUE(hwy::GetChosenTarget().IsInitialized());
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_EQ(hwy::SupportedTargets(), found);
  hwy::DisableTargets(found & ~int64_t{HWY_SCALAR});
  EXPECT_EQ(hwy::SupportedTargets(), int64_t{HWY_SCALAR});
  hwy::DisableTargets(0);
  EXPECT_EQ(hwy::SupportedTargets(), found);
}

}  // namespace
}  // namespace berth::cpu
