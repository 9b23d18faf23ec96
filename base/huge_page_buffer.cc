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
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

HugePageBuffer& HugePageBuffer::operator=(HugePageBuffer&& other) noexcept {
  HugePageBuffer gone(std::move(*this));
  memory_ = std::exchange(other.memory_, nullptr);
  mapped_ = std::exchange(other.mapped_, 0);
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

}  // namespace berth
