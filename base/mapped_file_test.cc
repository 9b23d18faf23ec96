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

// Resident KiB of the mapping at `address`, according to the system; -1 where it does not say.
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

TEST(MappedFile, DroppedPagesAreNotResidentAndComeBack) {
  const std::string path = written_file();
  {
    const auto file = MappedFile::open(path);
    ASSERT_TRUE(file.ok());
    const MappedFile& mapped = **file;
    for (const uint8_t byte : mapped.bytes()) ASSERT_EQ(byte, 'x');
    if (resident_kb(mapped.bytes().data()) < 0) GTEST_SKIP() << "the system does not say what is resident";
    EXPECT_EQ(resident_kb(mapped.bytes().data()), 1024);
    // Pages that are only partly inside stay.
    MappedFile::release_memory({mapped.bytes().data() + 1000, kSize / 2});
    EXPECT_LE(resident_kb(mapped.bytes().data()), 1024 - 512 + 64);
    EXPECT_GT(resident_kb(mapped.bytes().data()), 512);
    EXPECT_EQ(mapped.bytes()[kSize / 4], 'x');
  }
  std::remove(path.c_str());
}

TEST(MappedFile, DropsOnlyItsOwnPages) {
  const std::string path = written_file();
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  const std::vector<uint8_t> own(kSize, 7);
  MappedFile::release_memory({own.data(), own.size()});
  for (const uint8_t byte : own) ASSERT_EQ(byte, 7);
  // Beyond the end: ignored.
  MappedFile::release_memory({(*file)->bytes().data() + kSize - 10, 100});
  EXPECT_EQ((*file)->bytes()[kSize - 1], 'x');
  std::remove(path.c_str());
}

// Every word of the file is different.
std::string numbered_file() {
  std::string path = written_file();
  std::ofstream file(path, std::ios::binary);
  for (uint32_t i = 0; i < kSize / 4; ++i) file.write(reinterpret_cast<const char*>(&i), 4);
  return path;
}

TEST(MappedFile, ReadingAPartLeavesThePagesAlone) {
  const std::string path = numbered_file();
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  const Span<const uint8_t> bytes = (*file)->bytes();
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t numbers[8] = {};
    const uint32_t first = i * uint32_t{kSize / 4 / 64} + i % 5;
    ASSERT_EQ(MappedFile::read(bytes.subspan(first * 4, sizeof(numbers)), numbers), Error::kOk);
    for (uint32_t k = 0; k < 8; ++k) ASSERT_EQ(numbers[k], first + k);
  }
  EXPECT_LE(resident_kb(bytes.data()), 0);
  EXPECT_EQ(MappedFile::read(bytes.subspan(kSize, 0), nullptr), Error::kOk);
  std::remove(path.c_str());
}

TEST(MappedFile, ReadsPartsOfOtherMemory) {
  const std::string path = numbered_file();
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  const uint8_t own[4] = {1, 2, 3, 4};
  uint8_t copy[4] = {};
  ASSERT_EQ(MappedFile::read({own, 4}, copy), Error::kOk);
  EXPECT_EQ(std::vector<uint8_t>(copy, copy + 4), (std::vector<uint8_t>{1, 2, 3, 4}));
  std::remove(path.c_str());
}

TEST(MappedFile, ReadingATruncatedFileIsAnErrorAndNotASignal) {
  const std::string path = numbered_file();
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(::truncate(path.c_str(), kSize / 2 + 100), 0);
  uint8_t copy[1024];
  const Span<const uint8_t> bytes = (*file)->bytes();
  EXPECT_EQ(MappedFile::read(bytes.subspan(0, 1024), copy), Error::kOk);
  EXPECT_EQ(MappedFile::read(bytes.subspan(kSize / 2, 1024), copy), Error::kAccessFailed);
  EXPECT_EQ(MappedFile::read(bytes.subspan(kSize - 1024, 1024), copy), Error::kAccessFailed);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace berth
