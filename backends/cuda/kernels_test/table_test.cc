// The table of the CUDA kernels: the list that the compiler partitions by, name for name, and what the portable kernels
// take.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/queue.h"
#include "kernels/portable/portable.h"

namespace berth::cuda {
namespace {

const KernelEntry* find(KernelTable table, const std::string& name) {
  for (const KernelEntry& entry : table) {
    if (name == entry.name) return &entry;
  }
  return nullptr;
}

TEST(CudaTable, HasEveryListedOperatorOnceAsThePortableTableHasIt) {
  std::set<std::string> names;
  for (const KernelEntry& entry : kernels()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " twice";
    const KernelEntry* portable = find(portable::kernels(), entry.name);
    ASSERT_NE(portable, nullptr) << entry.name;
    EXPECT_STREQ(entry.signature, portable->signature) << entry.name;
    EXPECT_EQ(entry.unplaced_output, portable->unplaced_output) << entry.name;
    EXPECT_NE(entry.call, portable->call) << entry.name << " is the host's kernel";
    EXPECT_EQ(entry.temp_bytes, nullptr) << entry.name << " wants memory of the host";
  }
  // By the list itself, which compiler/targets/own/cuda_target.cc reads too.
  size_t listed = 0;
#define KERNEL(identifier) ++listed;
#include "backends/cuda/operators.def"
#undef KERNEL
  EXPECT_EQ(names.size(), listed);
  EXPECT_GE(listed, 180u);
}

TEST(CudaTable, HasTheOperatorsOfImageAndTextModels) {
  for (const char* name : {"aten::convolution.out", "aten::mm.out", "aten::addmm.out", "aten::bmm.out",
                           "aten::_softmax.out", "aten::native_layer_norm.out", "aten::embedding.out", "aten::cat.out",
                           "aten::max_pool2d_with_indices.out", "aten::gelu.out", "aten::view_copy.out"}) {
    EXPECT_NE(find(kernels(), name), nullptr) << name;
  }
}

TEST(CudaTable, EveryFaultHasASentence) {
  EXPECT_NE(std::strstr(to_string(kIndexOutOfRange), "index"), nullptr);
  EXPECT_NE(std::strstr(to_string(kDivisionByZero), "zero"), nullptr);
  EXPECT_STREQ(to_string(static_cast<Fault>(77)), "unknown fault");
}

}  // namespace
}  // namespace berth::cuda
