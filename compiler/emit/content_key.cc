#include "compiler/emit/content_key.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace berth::emit {
namespace {

constexpr size_t kStep = 16;                // bytes that are mixed at once
constexpr size_t kChunk = size_t{1} << 16;  // a multiple of it

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
  uint64_t a = 0;
  uint64_t b = 0;

  Mixer() = default;
  Mixer(size_t size, uint64_t salt) : a(spread(size + 1)), b(spread(salt + kGolden)) {}

  void take(uint64_t x, uint64_t y) {
    a = rotated(a ^ x * kGolden, 31) * kRoot5 + b;
    b = rotated(b ^ y * kRoot5, 33) * kRoot7 + a;
  }
  void take_step(const uint8_t* bytes) {
    uint64_t words[2];
    std::memcpy(words, bytes, kStep);
    take(words[0], words[1]);
  }

  /// `size` is a multiple of kStep in all chunks but the last.
  void take(const uint8_t* bytes, size_t size) {
    for (; size >= kStep; bytes += kStep, size -= kStep) take_step(bytes);
    if (size == 0) return;
    uint64_t words[2] = {0, 0};
    std::memcpy(words, bytes, size);
    take(words[0], words[1]);
  }

  std::string key() const {
    const uint64_t first = spread(a + b);
    const uint64_t second = spread(b ^ rotated(a, 17));
    char key[48];
    std::snprintf(key, sizeof key, "berth.c.%016llx%016llx", static_cast<unsigned long long>(first),
                  static_cast<unsigned long long>(second));
    return key;
  }
};

/// A blob of which some bytes are mixed. Not a splat.
struct Lane {
  Mixer mixer;
  const uint8_t* at = nullptr;
  size_t left = 0;
  size_t blob = 0;  // its number

  size_t steps() const { return left / kStep; }
  void skip(size_t steps) {
    at += steps * kStep;
    left -= steps * kStep;
  }
};

/// Each step waits for the one before it in its own lane alone.
void take_steps(Lane* first, Lane* second, size_t steps) {
  Mixer one = first->mixer, other = second->mixer;
  for (size_t i = 0; i < steps; ++i) {
    one.take_step(first->at + i * kStep);
    other.take_step(second->at + i * kStep);
  }
  first->mixer = one;
  second->mixer = other;
  first->skip(steps);
  second->skip(steps);
}

}  // namespace

std::string content_key(const ir::Blob& blob, uint64_t salt) {
  Mixer mixer(blob.size(), salt);
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
  return mixer.key();
}

std::vector<std::string> content_keys(const std::vector<ir::Blob>& blobs) {
  std::vector<std::string> keys(blobs.size());
  std::vector<Lane> waiting;
  for (size_t i = 0; i < blobs.size(); ++i) {
    const ir::Blob& blob = blobs[i];
    if (blob.is_splat()) {
      keys[i] = content_key(blob);
    } else {
      waiting.push_back({Mixer(blob.size(), 0), blob.bytes().data(), blob.size(), i});
    }
  }
  const auto finish = [&](Lane& lane) {
    lane.mixer.take(lane.at, lane.left);
    keys[lane.blob] = lane.mixer.key();
    blobs[lane.blob].release();
  };
  while (waiting.size() > 1) {
    Lane &last = waiting.back(), &other = waiting[waiting.size() - 2];
    take_steps(&last, &other, std::min(last.steps(), other.steps()));
    if (last.steps() > 0) std::swap(last, other);
    finish(last);
    waiting.pop_back();
  }
  if (!waiting.empty()) finish(waiting.back());
  return keys;
}

}  // namespace berth::emit
