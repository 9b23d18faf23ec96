#include "tools/npy.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace berth::tool {
namespace {

std::vector<uint8_t> file_of(const std::string& dictionary, size_t data_bytes, char version = 1) {
  std::string header = dictionary + "\n";
  std::string file = "\x93NUMPY";
  file += version;
  file += '\0';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  if (version > 1) file.append(2, '\0');
  file += header;
  file.append(data_bytes, '\x01');
  return std::vector<uint8_t>(file.begin(), file.end());
}

std::string error_of(const std::vector<uint8_t>& file) {
  auto array = parse_npy(file, "x.npy");
  return array.ok() ? "" : array.error().text();
}

TEST(Npy, ReadsShapesAndTypes) {
  auto array = parse_npy(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24), "x");
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->dtype, DType::kF32);
  EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(parse_npy(file_of("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", 8), "x").ok());
  EXPECT_TRUE(parse_npy(file_of("{'descr': '|b1', 'fortran_order': False, 'shape': (0,), }", 0, 2), "x").ok());
}

TEST(Npy, HostileFilesAreRefusedWithASentence) {
  EXPECT_NE(error_of({1, 2, 3}).find("not a .npy"), std::string::npos);
  EXPECT_NE(error_of(file_of("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", 4)).find("little-endian"),
            std::string::npos);
  EXPECT_NE(error_of(file_of("{'descr': '<f4', 'fortran_order': True, 'shape': (1,)}", 4)).find("column-major"),
            std::string::npos);
  EXPECT_NE(error_of(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 4)).find("bytes"),
            std::string::npos);
  EXPECT_NE(error_of(file_of("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999, 99999999999999)}", 4))
                .find("overflows"),
            std::string::npos);
  EXPECT_NE(error_of(file_of("{'descr': '<f4'}", 4)).find("column-major"), std::string::npos);
}

TEST(Npy, EveryTruncationAndFlipIsRefusedOrSound) {
  const auto whole = file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 4);
  for (size_t n = 0; n < whole.size(); ++n) {
    EXPECT_FALSE(parse_npy({whole.data(), n}, "x").ok()) << n << " bytes";
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      auto flipped = whole;
      flipped[i] = static_cast<uint8_t>(flipped[i] ^ (1 << bit));
      auto array = parse_npy(flipped, "x");
      if (!array.ok()) continue;
      size_t bytes = element_size(array->dtype);
      for (int64_t dim : array->shape) bytes *= static_cast<size_t>(dim);
      EXPECT_EQ(array->bytes.size(), bytes) << "byte " << i << " bit " << bit;
    }
  }
}

TEST(Npy, EveryRankRoundTrips) {
  const std::string path = ::testing::TempDir() + "/npy_test.npy";
  for (size_t rank = 0; rank < 5; ++rank) {
    Array array;
    array.dtype = DType::kI16;
    array.shape.assign(rank, 2);
    array.bytes.resize(size_t{2} << rank, 7);
    ASSERT_TRUE(write_npy(path, array).ok());
    auto again = read_npy(path);
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(again->shape, array.shape);
    EXPECT_EQ(again->bytes, array.bytes);
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace berth::tool
