// Which instruction sets are used. The fear: one that the processor lacks, which ends the process, or none of those
// that it has. Linux says which these are.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "kernels/cpu/packing.h"
#include "kernels/cpu/quantized_tile.h"
#include "kernels/cpu/simd_limit.h"
#include "kernels/portable/gemm_tile.h"

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

// What a build leaves out (BERTH_INSTRUCTION_SETS) is nowhere: nothing is limited to it, and no table names it.
TEST(SimdTargets, WhatABuildLeavesOutIsInNoTable) {
  std::set<std::string> names;
  const QuantizedFunctions* quantized[kMostQuantizedFunctions];
  for (int i = 0, count = all_quantized_functions(quantized); i < count; ++i) names.insert(quantized[i]->name);
  const portable::TileSet* tiles[3];
  for (int i = 0, count = portable::available_tile_sets(tiles); i < count; ++i) names.insert(tiles[i]->name);
  EXPECT_EQ(names.count("plain"), 1u);
  for (const char* isa : {"avx2", "avx512"}) {
    const bool compiled = has_kernels_for(isa);
    const int64_t target = isa == std::string("avx2") ? HWY_AVX2 : HWY_AVX3;
    EXPECT_EQ((HWY_TARGETS & target) != 0, compiled && HWY_ARCH_X86) << isa;
    const bool used = compiled && (hwy::SupportedTargets() & target) != 0;
    EXPECT_EQ(names.count(isa) != 0, used) << isa;
    EXPECT_EQ(limit_simd(isa), used) << isa;
    hwy::SetSupportedTargetsForTest(0);
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace
}  // namespace berth::cpu
