#include "runtime/host/host_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace berth {
namespace {

constexpr size_t kPage = 4096;  // no system's are smaller

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
  // calloc instead of aligned_alloc: what it takes from the system is not touched before it is used.
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
  // The rest stays with small pages: a large one would be resident beyond the end.
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
    // An older system does not know it, one with larger pages does not like the address: then pages are written below.
    if (::madvise(memory.data() + before, whole, MADV_POPULATE_WRITE) == 0) {
      make_resident(memory.subspan(0, before));
      memory = memory.subspan(before + whole, memory.size() - before - whole);
    }
  }
#endif
  // Writes what is there: a page that was only read may be one that all processes share.
  volatile uint8_t* bytes = memory.data();
  for (size_t i = 0; i < memory.size(); i += kPage) bytes[i] = bytes[i];
  if (!memory.empty()) bytes[memory.size() - 1] = bytes[memory.size() - 1];  // it may begin in the middle of a page
}

void give_zero_pages(Span<uint8_t> memory) {
#ifdef __linux__
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = -reinterpret_cast<uintptr_t>(memory.data()) & (page - 1);
  if (memory.size() >= before + page) {
    const size_t whole = (memory.size() - before) / page * page;
    // Elsewhere the advice may leave the bytes as they are.
    if (::madvise(memory.data() + before, whole, MADV_DONTNEED) == 0) {
      std::memset(memory.data(), 0, before);
      memory = memory.subspan(before + whole, memory.size() - before - whole);
    }
  }
#endif
  if (!memory.empty()) std::memset(memory.data(), 0, memory.size());
}

void bring_in(Span<const uint8_t> memory) {
#ifdef MADV_POPULATE_READ
  if (memory.empty()) return;
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = reinterpret_cast<uintptr_t>(memory.data()) % page;
  ::madvise(const_cast<uint8_t*>(memory.data()) - before, memory.size() + before, MADV_POPULATE_READ);
#else
  static_cast<void>(memory);
#endif
}

}  // namespace berth
