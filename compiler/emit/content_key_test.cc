// The fears: one name for bytes that differ, so that a delegate reads another's weights; two names for bytes that do
// not, so that a file holds them twice.
#include "compiler/emit/content_key.h"

#include <gtest/gtest.h>

#include <set>

namespace berth::emit {
namespace {

using ir::Blob;

TEST(ContentKey, EqualBytesHaveOneKeyHoweverTheyAreStored) {
  const uint8_t element[] = {1, 2, 3};
  std::vector<uint8_t> bytes;
  while (bytes.size() < 200001) bytes.insert(bytes.end(), element, element + 3);
  const Blob written = Blob::owned(bytes);
  EXPECT_EQ(content_key(Blob::splat(element, bytes.size() / 3)), content_key(written));
  EXPECT_EQ(content_key(Blob::owned(bytes)), content_key(written));
}

// Two at a time are mixed, of any sizes, and each still alone.
TEST(ContentKey, KeysOfSeveralAreThoseOfEach) {
  const uint8_t element[] = {1, 2, 3};
  std::vector<Blob> blobs = {Blob(), Blob::splat(element, 70000)};
  for (const size_t size : {0, 1, 15, 16, 17, 31, 32, 33, 160, 100000, 100007, 100008, 48}) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 37 + i / 251 + size);
    blobs.push_back(Blob::owned(std::move(bytes)));
  }
  for (; !blobs.empty(); blobs.pop_back()) {
    const std::vector<std::string> keys = content_keys(blobs);
    ASSERT_EQ(keys.size(), blobs.size());
    for (size_t i = 0; i < blobs.size(); ++i) EXPECT_EQ(keys[i], content_key(blobs[i])) << i << " of " << blobs.size();
  }
  EXPECT_TRUE(content_keys({}).empty());
}

TEST(ContentKey, DifferentSizesAndBytesHaveDifferentKeys) {
  std::set<std::string> keys;
  size_t blobs = 0;
  const auto add = [&](std::vector<uint8_t> bytes) {
    keys.insert(content_key(Blob::owned(std::move(bytes))));
    ++blobs;
  };
  // Zeros at the end count, though the last word is filled up with them.
  for (size_t size = 0; size <= 64; ++size) add(std::vector<uint8_t>(size, 0));
  for (size_t size = 1; size <= 64; ++size) {
    std::vector<uint8_t> bytes(size, 0);
    bytes[0] = 1;
    add(bytes);
  }
  // On both sides of where chunks end.
  for (const size_t at :
       {size_t{1}, size_t{7}, size_t{8}, size_t{65535}, size_t{65536}, size_t{65537}, size_t{70000}}) {
    std::vector<uint8_t> bytes(70001, 9);
    ++bytes[at];
    add(bytes);
  }
  EXPECT_EQ(keys.size(), blobs);
}

TEST(ContentKey, ASaltGivesAnotherDigest) {
  const Blob blob = Blob::owned({1, 2, 3});
  const std::string key = content_key(blob);
  EXPECT_EQ(key.rfind("berth.c.", 0), 0u);
  EXPECT_EQ(key.size(), 8u + 32u);
  EXPECT_EQ(key.find_first_not_of("0123456789abcdef", 8), std::string::npos);
  EXPECT_NE(content_key(blob, 1), key);
  EXPECT_NE(content_key(blob, 1), content_key(blob, 2));
}

}  // namespace
}  // namespace berth::emit
