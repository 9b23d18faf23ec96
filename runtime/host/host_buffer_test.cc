// The fears: bytes that are not zero or not aligned, memory that does not go back, pages resident beyond the end of a
// buffer (small models would pay for large pages), a load that leaves its arenas to the first run.

#include "runtime/host/host_buffer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

namespace berth {
namespace {

constexpr size_t kMega = size_t{1} << 20;

size_t resident_pages() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  size_t size = 0;
  size_t resident = 0;
  if (file == nullptr || std::fscanf(file, "%zu %zu", &size, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident;
}

// Pages of the buffer that are resident, as mincore() counts them.
size_t resident_of(Span<uint8_t> bytes) {
  const size_t page = ::sysconf(_SC_PAGESIZE);
  uint8_t* begin = bytes.data() - reinterpret_cast<uintptr_t>(bytes.data()) % page;
  std::vector<unsigned char> pages((static_cast<size_t>(bytes.data() + bytes.size() - begin) + page - 1) / page);
  EXPECT_EQ(::mincore(begin, pages.size() * page, pages.data()), 0);
  return std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; });
}

TEST(HostBuffer, IsZeroAndAligned) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4095}, kMega, 2 * kMega, 2 * kMega + 1, 5 * kMega}) {
    for (const size_t alignment : {size_t{1}, size_t{64}, size_t{4096}}) {
      const Result<HostBuffer> buffer = HostBuffer::make(bytes, alignment);
      ASSERT_TRUE(buffer.ok());
      EXPECT_EQ(buffer->bytes().size(), bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->bytes().data()) % std::max<size_t>(alignment, 64), 0u);
      for (size_t i = 0; i < bytes; i += 509) ASSERT_EQ(buffer->bytes().data()[i], 0);
      std::fill_n(buffer->bytes().data(), bytes, uint8_t{7});
    }
  }
}

TEST(HostBuffer, AnImpossibleSizeIsAnError) {
  EXPECT_EQ(HostBuffer::make(SIZE_MAX / 2).error(), Error::kMemoryAllocationFailed);
  EXPECT_EQ(HostBuffer::make(SIZE_MAX).error(), Error::kMemoryAllocationFailed);
}

TEST(HostBuffer, MovesWithItsBytes) {
  HostBuffer first = *HostBuffer::make(3 * kMega);
  first.bytes().data()[0] = 5;
  uint8_t* const address = first.bytes().data();
  HostBuffer second(std::move(first));
  EXPECT_EQ(second.bytes().data(), address);
  HostBuffer third = *HostBuffer::make(10);
  third = std::move(second);
  EXPECT_EQ(third.bytes().data(), address);
  EXPECT_EQ(third.bytes().data()[0], 5);
}

TEST(HostBuffer, FreesItsPages) {
  { const HostBuffer warm = *HostBuffer::make(64 * kMega); }
  const size_t before = resident_pages();
  for (int i = 0; i < 3; ++i) {
    const HostBuffer buffer = *HostBuffer::make(64 * kMega);
    make_resident(buffer.bytes());
  }
  EXPECT_LT(resident_pages(), before + 16 * kMega / 4096);
}

TEST(HostBuffer, MakeResidentTouchesEveryPageAndNoneBeyond) {
  for (const size_t bytes : {size_t{100}, 12 * size_t{4096} + 5, 2 * kMega + 5 * size_t{4096}, 7 * kMega}) {
    const HostBuffer buffer = *HostBuffer::make(bytes);
    buffer.bytes().data()[bytes - 1] = 9;
    const size_t before = resident_pages();
    make_resident(buffer.bytes());
    const size_t page = ::sysconf(_SC_PAGESIZE);
    EXPECT_GE(resident_of(buffer.bytes()), bytes / page) << bytes;
    EXPECT_LE(resident_pages(), before + bytes / page + 256) << bytes;
    EXPECT_EQ(buffer.bytes().data()[bytes - 1], 9);
  }
  make_resident({});
}

TEST(HostBuffer, MakeResidentTouchesTheLastPageOfAnUnalignedRange) {
  const size_t page = ::sysconf(_SC_PAGESIZE);
  for (const size_t pages : {size_t{2}, size_t{3}, size_t{9}}) {
    void* const map = ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(map, MAP_FAILED);
    const Span<uint8_t> all(static_cast<uint8_t*>(map), pages * page);
    make_resident(all.subspan(page - 10, (pages - 2) * page + 20));
    EXPECT_EQ(resident_of(all), pages);
    ::munmap(map, pages * page);
  }
}

TEST(HostBuffer, PrefaultTouchesEveryPageOfAMappedFile) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const std::vector<uint8_t> bytes(64 * 4096, 3);
  ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
  std::fflush(file);
  void* const map = ::mmap(nullptr, bytes.size(), PROT_READ, MAP_PRIVATE, ::fileno(file), 0);
  ASSERT_NE(map, MAP_FAILED);
  const uint8_t* const data = static_cast<const uint8_t*>(map);
  const size_t page = ::sysconf(_SC_PAGESIZE);
  // Known since Linux 5.14.
  const bool known = ::madvise(map, page, MADV_POPULATE_READ) == 0;
  const size_t before = resident_pages();
  prefault({data + 100, bytes.size() - 200});
  const size_t expected = known ? bytes.size() / page - 17 : 0;
  EXPECT_GE(resident_pages(), before + expected);
  EXPECT_EQ(data[5000], 3);
  prefault({});
  // What is not a file's is left alone.
  const uint8_t own[3] = {1, 2, 3};
  prefault({own, 3});
  EXPECT_EQ(own[2], 3);
  ::munmap(map, bytes.size());
  std::fclose(file);
}

TEST(HostBuffer, ZeroPagesZeroesNothingElse) {
  const size_t page = ::sysconf(_SC_PAGESIZE);
  const HostBuffer buffer = *HostBuffer::make(4 * kMega);
  const Span<uint8_t> all = buffer.bytes();
  for (const auto& [begin, size] : {std::pair<size_t, size_t>{100, 3 * kMega}, {page, 2 * page}, {page, 10}, {5, 0}}) {
    std::fill_n(all.data(), all.size(), uint8_t{7});
    give_zero_pages(all.subspan(begin, size));
    EXPECT_EQ(static_cast<size_t>(std::count(all.data(), all.data() + all.size(), uint8_t{0})), size);
    EXPECT_EQ(static_cast<size_t>(std::count(all.data() + begin, all.data() + begin + size, uint8_t{0})), size);
  }
}

}  // namespace
}  // namespace berth
