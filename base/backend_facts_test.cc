#include "base/backend_facts.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(BackendFacts, KnowsBerthsOwn) {
  EXPECT_TRUE(runs_nested_programs("berth.cpu"));
  EXPECT_TRUE(runs_nested_programs("berth.mine"));
  EXPECT_FALSE(runs_nested_programs("berth"));
  EXPECT_FALSE(runs_nested_programs("XnnpackBackend"));
  EXPECT_FALSE(runs_nested_programs(""));
}

TEST(BackendFacts, OnlyVectorisedKernelsWantMoreThanExecuTorchGives) {
  EXPECT_EQ(delegate_alignment("berth.cpu"), 64);
  for (const char* other : {"berth.sim", "berth.cuda", "berth.cpu2", "XnnpackBackend", ""}) {
    EXPECT_EQ(delegate_alignment(other), 16) << other;
  }
}

TEST(BackendFacts, XnnpackReadsPastArenasWhateverItsName) {
  EXPECT_EQ(bytes_behind_arenas("XnnpackBackend"), 64);
  EXPECT_EQ(bytes_behind_arenas("my_XNNPACK"), 64);
  EXPECT_EQ(bytes_behind_arenas("xnnpac"), 0);
  EXPECT_EQ(bytes_behind_arenas("xnnpac_xnnpack"), 64);
  EXPECT_EQ(bytes_behind_arenas("EthosUBackend"), 0);
  EXPECT_EQ(bytes_behind_arenas(""), 0);
}

}  // namespace
}  // namespace berth
