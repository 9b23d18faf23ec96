#include "compiler/emit/content_key.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

namespace berth::emit {
namespace {

// A multiple of the 16 bytes that are mixed at once.
constexpr size_t kChunk = size_t{1} << 16;

uint64_t rotated(uint64_t word, int bits) { return word << bits | word >> (64 - bits); }

// Odd numbers without a pattern: the fractions of the golden ratio and of the square roots of 3, 5 and 7.
constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;
constexpr uint64_t kRoot3 = 0xbb67ae8584caa73bu;
constexpr uint64_t kRoot5 = 0x3c6ef372fe94f82bu;
constexpr uint64_t kRoot7 = 0xa54ff53a5f1d36f1u;

/// Spreads every bit over the whole word; no two words become one.
uint64_t spread(uint64_t word) {
  word = (word ^ word >> 32) * kRoot3;
  word = (word ^ word >> 29) * kRoot7;
  return word ^ word >> 32;
}

/// Two words that each take in every word of the bytes.
struct Mixer {
  uint64_t a;
  uint64_t b;

  void take(uint64_t x, uint64_t y) {
    a = rotated(a ^ x * kGolden, 31) * kRoot5 + b;
    b = rotated(b ^ y * kRoot5, 33) * kRoot7 + a;
  }

  /// `size` is a multiple of 16 in all chunks but the last.
  void take(const uint8_t* bytes, size_t size) {
    for (; size >= 16; bytes += 16, size -= 16) {
      uint64_t words[2];
      std::memcpy(words, bytes, 16);
      take(words[0], words[1]);
    }
    if (size == 0) return;
    uint64_t words[2] = {0, 0};
    std::memcpy(words, bytes, size);
    take(words[0], words[1]);
  }
};

}  // namespace

std::string content_key(const ir::Blob& blob, uint64_t salt) {
  Mixer mixer{spread(blob.size() + 1), spread(salt + kGolden)};
  if (blob.is_splat()) {
    std::vector<uint8_t> chunk(std::min(kChunk, blob.size()));
    for (size_t done = 0; done < blob.size(); done += chunk.size()) {
      const size_t size = std::min(chunk.size(), blob.size() - done);
      blob.read(done, {chunk.data(), size});
      mixer.take(chunk.data(), size);
    }
  } else {
    mixer.take(blob.bytes().data(), blob.size());
    blob.release();
  }
  const uint64_t first = spread(mixer.a + mixer.b);
  const uint64_t second = spread(mixer.b ^ rotated(mixer.a, 17));
  char key[48];
  std::snprintf(key, sizeof key, "berth.c.%016llx%016llx", static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(second));
  return key;
}

}  // namespace berth::emit
