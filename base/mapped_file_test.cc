#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace berth {
namespace {

constexpr size_t kSize = size_t{1} << 20;

std::string written_file() {
  std::string path = ::testing::TempDir() + "berth_mapped_" + std::string(6, 'X');  // mkstemp()'s
  const int descriptor = ::mkstemp(path.data());
  EXPECT_GE(descriptor, 0);
  const std::string bytes(kSize, 'x');
  EXPECT_EQ(::write(descriptor, bytes.data(), kSize), static_cast<ssize_t>(kSize));
  ::close(descriptor);
  return path;
}

// KiB of the mapping at `address` that are resident, as the system says; -1 where it does not.
int resident_kb(const uint8_t* address) {
  std::ifstream smaps("/proc/self/smaps");
  std::ostringstream start;
  start << std::hex << reinterpret_cast<uintptr_t>(address) << '-';
  bool here = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.compare(0, start.str().size(), start.str()) == 0) here = true;
    if (here && line.compare(0, 4, "Rss:") == 0) return std::atoi(line.c_str() + 4);
  }
  return -1;
}

TEST(PagesGivenBack, AreNotResidentAndComeAgain) {
  const std::string path = written_file();
  {
    const auto file = MappedFile::open(path);
    ASSERT_TRUE(file.ok());
    const MappedFile& mapped = **file;
    for (const uint8_t byte : mapped.bytes()) ASSERT_EQ(byte, 'x');
    if (resident_kb(mapped.bytes().data()) < 0) GTEST_SKIP() << "the system does not say what is resident";
    EXPECT_EQ(resident_kb(mapped.bytes().data()), 1024);
    // Pages that are only partly meant stay.
    MappedFile::release_memory({mapped.bytes().data() + 1000, kSize / 2});
    EXPECT_LE(resident_kb(mapped.bytes().data()), 1024 - 512 + 64);
    EXPECT_GT(resident_kb(mapped.bytes().data()), 512);
    EXPECT_EQ(mapped.bytes()[kSize / 4], 'x');
  }
  std::remove(path.c_str());
}

TEST(PagesGivenBack, AreNeverThoseOfOtherMemory) {
  const std::string path = written_file();
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  const std::vector<uint8_t> own(kSize, 7);
  MappedFile::release_memory({own.data(), own.size()});
  for (const uint8_t byte : own) ASSERT_EQ(byte, 7);
  // More than is there: nothing.
  MappedFile::release_memory({(*file)->bytes().data() + kSize - 10, 100});
  EXPECT_EQ((*file)->bytes()[kSize - 1], 'x');
  std::remove(path.c_str());
}

}  // namespace
}  // namespace berth
