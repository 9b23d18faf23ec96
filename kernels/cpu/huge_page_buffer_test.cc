// The fears: floats that are not aligned, ends that cannot be written, memory that does not go back, a size that wraps.
#include "kernels/cpu/huge_page_buffer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace berth::cpu {
namespace {

constexpr size_t kMega = size_t{1} << 20;

// Pages that the system has given of [data, data + bytes), which it mapped.
size_t resident_pages(const void* data, size_t bytes) {
  const size_t page = ::sysconf(_SC_PAGESIZE);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data) / page * page;
  std::vector<unsigned char> pages((reinterpret_cast<uintptr_t>(data) + bytes - begin + page - 1) / page);
  if (::mincore(reinterpret_cast<void*>(begin), pages.size() * page, pages.data()) != 0) return 0;
  return std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; });
}

TEST(HugePageBuffer, IsAlignedAndAllWritable) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{17}, kMega / 2 - 1, kMega / 2, 2 * kMega + 3}) {
    HugePageBuffer floats;
    ASSERT_TRUE(floats.allocate(count)) << count;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(floats.data()) % 64, 0u) << count;
    std::fill_n(floats.data(), count, 3.0f);
    for (size_t i = 0; i < count; i += 1000) ASSERT_EQ(floats.data()[i], 3.0f);
  }
}

TEST(HugePageBuffer, IsNotResidentBeforeItIsWritten) {
  const size_t bytes = 8 * kMega + 100, page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  HugePageBuffer floats;
  ASSERT_TRUE(floats.allocate(bytes / sizeof(float)));
  EXPECT_EQ(resident_pages(floats.data(), bytes), 0u);
  floats.data()[bytes / sizeof(float) - 1] = 1;
  // The end is of small pages.
  EXPECT_EQ(resident_pages(floats.data(), bytes), 1u);
  floats.data()[0] = 1;
  EXPECT_LE(resident_pages(floats.data(), bytes), 1 + 2 * kMega / page);
}

TEST(HugePageBuffer, IsFreed) {
  uintptr_t where = 0;
  {
    HugePageBuffer floats;
    ASSERT_TRUE(floats.allocate(4 * kMega));
    std::fill_n(floats.data(), 4 * kMega, 1.0f);
    where = reinterpret_cast<uintptr_t>(floats.data());
  }
  EXPECT_EQ(resident_pages(reinterpret_cast<const void*>(where), 16 * kMega), 0u);
}

TEST(HugePageBuffer, AnImpossibleSizeGivesNothing) {
  HugePageBuffer floats;
  EXPECT_FALSE(floats.allocate(SIZE_MAX / sizeof(float)));
  HugePageBuffer more;
  EXPECT_FALSE(more.allocate(SIZE_MAX));
}

}  // namespace
}  // namespace berth::cpu
