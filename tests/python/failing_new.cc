// For faults_test.py, which preloads it: an operator new of the whole process that can fail, and counts blocks.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> live{0};     // blocks
thread_local long until = -1;  // of this thread: allocations until one fails; below zero: none will
thread_local bool failed = false;

void* allocate(size_t bytes, size_t alignment) {
  if (until >= 0 && until-- == 0) {
    failed = true;
    return nullptr;
  }
  void* memory = nullptr;
  if (alignment <= alignof(std::max_align_t)) {
    memory = std::malloc(bytes == 0 ? 1 : bytes);
  } else if (posix_memalign(&memory, alignment, bytes == 0 ? 1 : bytes) != 0) {
    return nullptr;
  }
  if (memory != nullptr) ++live;
  return memory;
}

void* allocate_or_throw(size_t bytes, size_t alignment = 1) {
  if (void* memory = allocate(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

void release(void* memory) noexcept {
  if (memory != nullptr) --live;
  std::free(memory);
}

}  // namespace

extern "C" {
// The n-th allocation of this thread from here on, counted from 0, fails.
void berth_fail_new(long n) {
  until = n;
  failed = false;
}
// Whether it came to that; none fails any more.
int berth_has_failed() {
  until = -1;
  return failed;
}
long berth_live_blocks() { return live; }
}

using std::align_val_t;
using std::nothrow_t;

void* operator new(size_t n) { return allocate_or_throw(n); }
void* operator new[](size_t n) { return allocate_or_throw(n); }
void* operator new(size_t n, align_val_t a) { return allocate_or_throw(n, static_cast<size_t>(a)); }
void* operator new[](size_t n, align_val_t a) { return allocate_or_throw(n, static_cast<size_t>(a)); }
void* operator new(size_t n, const nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new[](size_t n, const nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new(size_t n, align_val_t a, const nothrow_t&) noexcept { return allocate(n, static_cast<size_t>(a)); }
void* operator new[](size_t n, align_val_t a, const nothrow_t&) noexcept { return allocate(n, static_cast<size_t>(a)); }
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, size_t) noexcept { release(p); }
void operator delete[](void* p, size_t) noexcept { release(p); }
void operator delete(void* p, align_val_t) noexcept { release(p); }
void operator delete[](void* p, align_val_t) noexcept { release(p); }
void operator delete(void* p, size_t, align_val_t) noexcept { release(p); }
void operator delete[](void* p, size_t, align_val_t) noexcept { release(p); }
void operator delete(void* p, const nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, const nothrow_t&) noexcept { release(p); }
