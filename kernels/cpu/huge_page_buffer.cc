#include "kernels/cpu/huge_page_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "base/math.h"

namespace berth::cpu {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kLargePage = size_t{2} << 20;

}  // namespace

HugePageBuffer::~HugePageBuffer() {
  if (mapped_ > 0) {
    ::munmap(memory_, mapped_);
  } else {
    std::free(memory_);
  }
}

bool HugePageBuffer::allocate(size_t count) {
  if (count > SIZE_MAX / 2 / sizeof(float)) return false;
  const size_t bytes = align_up(count * sizeof(float) + (count == 0), kAlignment);
  if (bytes < kLargePage) {
    memory_ = std::aligned_alloc(kAlignment, bytes);
    data_ = static_cast<float*>(memory_);
    return memory_ != nullptr;
  }
  void* memory = ::mmap(nullptr, bytes + kLargePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = memory;
  mapped_ = bytes + kLargePage;
  const uintptr_t first = align_up(reinterpret_cast<uintptr_t>(memory), uintptr_t{kLargePage});
  data_ = reinterpret_cast<float*>(first);
#ifdef MADV_HUGEPAGE
  // The rest stays with small pages: a large one would be resident beyond the end.
  ::madvise(data_, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
  return true;
}

}  // namespace berth::cpu
