#include "runtime/host/host_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace berth {
namespace {

constexpr size_t kPage = 4096;  // the smallest of any system

uint8_t* align(void* memory, size_t alignment) {
  uint8_t* bytes = static_cast<uint8_t*>(memory);
  return bytes + (-reinterpret_cast<uintptr_t>(bytes) & (alignment - 1));
}

}  // namespace

Result<HostBuffer> HostBuffer::make(size_t bytes, size_t alignment) {
  alignment = std::max<size_t>(alignment, 64);
  if (bytes > SIZE_MAX / 2 - alignment) return Error::kMemoryAllocationFailed;
  HostBuffer buffer;
  const bool large = bytes >= kLargePage && alignment <= kLargePage;
  BERTH_RETURN_IF_ERROR(large ? buffer.take_pages(bytes) : buffer.take_heap(bytes, alignment));
  return buffer;
}

Error HostBuffer::take_heap(size_t bytes, size_t alignment) {
  // calloc instead of aligned_alloc and memset, so that pages from the system are not touched before they are used.
  memory_ = std::calloc(bytes + alignment, 1);
  if (memory_ == nullptr) return Error::kMemoryAllocationFailed;
  bytes_ = {align(memory_, alignment), bytes};
  return Error::kOk;
}

Error HostBuffer::take_pages(size_t bytes) {
  void* memory = ::mmap(nullptr, bytes + kLargePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Error::kMemoryAllocationFailed;
  memory_ = memory;
  mapped_ = bytes + kLargePage;
  bytes_ = {align(memory_, kLargePage), bytes};
#ifdef MADV_HUGEPAGE
  // The rest uses small pages: a large one would be resident beyond the end.
  ::madvise(bytes_.data(), bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
  return Error::kOk;
}

void HostBuffer::swap(HostBuffer& other) {
  std::swap(memory_, other.memory_);
  std::swap(mapped_, other.mapped_);
  std::swap(bytes_, other.bytes_);
}

void HostBuffer::reset() {
  if (mapped_ > 0) {
    ::munmap(memory_, mapped_);
  } else {
    std::free(memory_);
  }
}

void make_resident(Span<uint8_t> memory) {
#ifdef MADV_POPULATE_WRITE
  const size_t before = -reinterpret_cast<uintptr_t>(memory.data()) & (kPage - 1);
  if (memory.size() >= before + kPage) {
    const size_t whole = (memory.size() - before) / kPage * kPage;
    // Fails on older systems and on those with larger pages; then the loop below writes to each page.
    if (::madvise(memory.data() + before, whole, MADV_POPULATE_WRITE) == 0) {
      make_resident(memory.subspan(0, before));
      memory = memory.subspan(before + whole, memory.size() - before - whole);
    }
  }
#endif
  // Writes, because a page that was only read may be the shared zero page.
  volatile uint8_t* bytes = memory.data();
  for (size_t i = 0; i < memory.size(); i += kPage) bytes[i] = bytes[i];
  if (!memory.empty()) bytes[memory.size() - 1] = bytes[memory.size() - 1];  // memory may begin inside a page
}

void give_zero_pages(Span<uint8_t> memory) {
#ifdef __linux__
  const size_t page = ::sysconf(_SC_PAGESIZE);
  const size_t before = -reinterpret_cast<uintptr_t>(memory.data()) & (page - 1);
  if (memory.size() >= before + page) {
    const size_t whole = (memory.size() - before) / page * page;
    // On other systems this advice may keep the contents.
    if (::madvise(memory.data() + before, whole, MADV_DONTNEED) == 0) {
      std::memset(memory.data(), 0, before);
      memory = memory.subspan(before + whole, memory.size() - before - whole);
    }
  }
#endif
  if (!memory.empty()) std::memset(memory.data(), 0, memory.size());
}

void prefault(Span<const uint8_t> memory) {
#ifdef MADV_POPULATE_READ
  if (memory.empty()) return;
  const size_t page = ::sysconf(_SC_PAGESIZE);
  const size_t before = reinterpret_cast<uintptr_t>(memory.data()) % page;
  ::madvise(const_cast<uint8_t*>(memory.data()) - before, memory.size() + before, MADV_POPULATE_READ);
#else
  static_cast<void>(memory);
#endif
}

}  // namespace berth
