#include "base/huge_page_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/math.h"

namespace berth {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kLargePage = size_t{2} << 20;

}  // namespace

HugePageBuffer::~HugePageBuffer() { free(); }

HugePageBuffer::HugePageBuffer(HugePageBuffer&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      mapped_(std::exchange(other.mapped_, 0)),
      chunk_(std::move(other.chunk_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

HugePageBuffer& HugePageBuffer::operator=(HugePageBuffer&& other) noexcept {
  HugePageBuffer gone(std::move(*this));
  memory_ = std::exchange(other.memory_, nullptr);
  mapped_ = std::exchange(other.mapped_, 0);
  chunk_ = std::move(other.chunk_);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

void HugePageBuffer::free() {
  if (mapped_ > 0) {
    ::munmap(memory_, mapped_);
  } else {
    std::free(memory_);
  }
}

bool HugePageBuffer::allocate(size_t size) {
  if (size > SIZE_MAX / 2) return false;
  const size_t bytes = align_up(size + (size == 0), kAlignment);
  if (bytes < kLargePage) {
    memory_ = std::aligned_alloc(kAlignment, bytes);
    data_ = static_cast<uint8_t*>(memory_);
    size_ = memory_ == nullptr ? 0 : size;
    return memory_ != nullptr;
  }
  void* memory = ::mmap(nullptr, bytes + kLargePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = memory;
  mapped_ = bytes + kLargePage;
  const uintptr_t first = align_up(reinterpret_cast<uintptr_t>(memory), uintptr_t{kLargePage});
  data_ = reinterpret_cast<uint8_t*>(first);
  size_ = size;
#ifdef MADV_HUGEPAGE
  // The rest stays with small pages: a large one would be resident beyond the end.
  ::madvise(data_, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
  return true;
}

bool HugePageBuffer::allocate(size_t size, HugePagePool& pool) {
  if (size < HugePagePool::kLeast || size > HugePagePool::kChunk) return allocate(size);
  data_ = pool.take(align_up(size, kAlignment));
  if (data_ == nullptr) return false;
  chunk_ = pool.chunk_;
  size_ = size;
  return true;
}

uint8_t* HugePagePool::take(size_t bytes) {
  if (chunk_ == nullptr || kChunk - used_ < bytes) {
    auto fresh = std::make_shared<HugePageBuffer>();
    if (!fresh->allocate(kChunk)) return nullptr;
    chunk_ = std::move(fresh);
    used_ = 0;
  }
  used_ += bytes;
  return chunk_->data() + used_ - bytes;
}

void HugePagePool::give_back(HugePageBuffer buffer) {
  if (chunk_ == nullptr || buffer.data() == nullptr) return;
  const auto begin = reinterpret_cast<uintptr_t>(buffer.data());
  const auto end = reinterpret_cast<uintptr_t>(chunk_->data()) + used_;
  if (begin + align_up(buffer.size(), kAlignment) == end && used_ != 0) used_ -= end - begin;
}

}  // namespace berth
