#include "compiler/ir/blob.h"

#include <algorithm>
#include <cstring>

#include "base/huge_page_buffer.h"

namespace berth::ir {

Blob Blob::owned(std::vector<uint8_t> bytes) {
  Blob blob;
  const auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  blob.size_ = owner->size();
  blob.bytes_ = owner->data();
  blob.owner_ = owner;
  return blob;
}

Blob Blob::owned_buffer(HugePageBuffer bytes) {
  Blob blob;
  const auto owner = std::make_shared<const HugePageBuffer>(std::move(bytes));
  blob.size_ = owner->size();
  blob.bytes_ = owner->data();
  blob.owner_ = owner;
  return blob;
}

Blob Blob::mapped(std::shared_ptr<const MappedFile> file, size_t offset, size_t size) {
  BERTH_CHECK(offset <= file->bytes().size() && size <= file->bytes().size() - offset);
  Blob blob;
  blob.file_ = std::move(file);
  blob.offset_ = offset;
  blob.size_ = size;
  return blob;
}

Blob Blob::splat(Span<const uint8_t> element, size_t count) {
  BERTH_CHECK(!element.empty() && element.size() <= sizeof(element_));
  Blob blob;
  std::memcpy(blob.element_, element.data(), element.size());
  blob.element_size_ = static_cast<uint8_t>(element.size());
  blob.size_ = element.size() * count;
  return blob;
}

Span<const uint8_t> Blob::bytes() const {
  BERTH_CHECK(!is_splat());
  if (file_ != nullptr) return file_->bytes().subspan(offset_, size_);
  return {bytes_, size_};
}

Span<const uint8_t> Blob::bytes_or_copy(std::vector<uint8_t>* room) const {
  if (!is_splat()) return bytes();
  *room = to_vector();
  return *room;
}

Span<const uint8_t> Blob::element() const {
  BERTH_CHECK(is_splat());
  return {element_, element_size_};
}

void Blob::read(size_t offset, Span<uint8_t> out) const {
  BERTH_CHECK(offset <= size_ && out.size() <= size_ - offset);
  if (out.empty()) return;
  if (is_splat()) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = element_[(offset + i) % element_size_];
    return;
  }
  std::memcpy(out.data(), bytes().data() + offset, out.size());
}

std::vector<uint8_t> Blob::to_vector() const {
  std::vector<uint8_t> all(size_);
  read(0, all);
  return all;
}

void Blob::release() const {
  if (file_ != nullptr) file_->release(offset_, size_);
}

bool Blob::equal(const Blob& a, const Blob& b) {
  if (a.size_ != b.size_) return false;
  if (!a.is_splat() && !b.is_splat())
    return a.size_ == 0 || std::memcmp(a.bytes().data(), b.bytes().data(), a.size_) == 0;
  if (a.is_splat() && b.is_splat() && a.element_size_ == b.element_size_) {
    return std::memcmp(a.element_, b.element_, a.element_size_) == 0;
  }
  constexpr size_t kChunk = 4096;
  uint8_t left[kChunk];
  uint8_t right[kChunk];
  for (size_t done = 0; done < a.size_; done += kChunk) {
    const size_t n = std::min(kChunk, a.size_ - done);
    a.read(done, {left, n});
    b.read(done, {right, n});
    if (std::memcmp(left, right, n) != 0) return false;
  }
  return true;
}

}  // namespace berth::ir
