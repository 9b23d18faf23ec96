#include "compiler/ir/blob_set.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace berth::ir {
namespace {

/// Mixes in eight bytes at a time; for telling blobs apart, not against an adversary: equality is always compared.
uint64_t mix(uint64_t hash, const uint8_t* bytes, size_t size) {
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  for (; size > 0; ++bytes, --size) hash = (hash ^ *bytes) * 0x100000001b3u;
  return hash;
}

uint64_t mix_range(uint64_t hash, const Blob& blob, size_t offset, size_t size) {
  std::array<uint8_t, 4096> buffer;
  for (size_t done = 0; done < size;) {
    const size_t n = std::min(buffer.size(), size - done);
    blob.read(offset + done, {buffer.data(), n});
    hash = mix(hash, buffer.data(), n);
    done += n;
  }
  return hash;
}

/// Of the size and 64 bytes each at the start, in the middle and at the end.
uint64_t sample_hash(const Blob& blob) {
  const size_t size = blob.size();
  const size_t n = std::min<size_t>(64, size);
  uint64_t hash = (size + 1) * 0x9e3779b97f4a7c15u;
  for (const size_t offset : {size_t{0}, (size - n) / 2, size - n}) hash = mix_range(hash, blob, offset, n);
  return hash;
}

/// Whether they are the same memory, so that their bytes need not be read.
bool are_one(const Blob& a, const Blob& b) {
  return !a.is_splat() && !b.is_splat() && a.size() == b.size() && a.bytes().data() == b.bytes().data();
}

}  // namespace

uint64_t BlobSet::full_hash(Entry& entry) {
  if (!entry.hashed) {
    entry.hash = mix_range(0, entry.blob, 0, entry.blob.size());
    entry.hashed = true;
    entry.blob.release();
  }
  return entry.hash;
}

uint32_t BlobSet::add(const Blob& blob) {
  std::vector<uint32_t>& alike = by_sample_[sample_hash(blob)];
  for (const uint32_t number : alike) {
    if (are_one(entries_[number - 1].blob, blob)) return number;
  }
  Entry entry{blob, 0, false};
  for (const uint32_t number : alike) {
    Entry& other = entries_[number - 1];
    if (other.blob.size() != blob.size() || full_hash(other) != full_hash(entry)) continue;
    const bool equal = Blob::equal(other.blob, blob);
    blob.release();
    other.blob.release();
    if (equal) return number;
  }
  entries_.push_back(std::move(entry));
  const uint32_t number = static_cast<uint32_t>(entries_.size());
  alike.push_back(number);
  return number;
}

std::vector<Blob> BlobSet::take() && {
  std::vector<Blob> all;
  for (Entry& entry : entries_) all.push_back(std::move(entry.blob));
  entries_.clear();
  by_sample_.clear();
  return all;
}

}  // namespace berth::ir
