// The kernels on a GPU. Everything that the tests take from the heap lies in pinned memory, which the device reaches at
// the host's addresses; so a test's tensors are ones of the device, and the test reads them when the kernel is done.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

#include "backends/cuda/device/cuda_allocator.h"
#include "backends/cuda/device/cuda_blas.h"
#include "backends/cuda/device/cuda_dnn.h"
#include "backends/cuda/device/cuda_stream.h"
#include "backends/cuda/kernels_test/tested.h"
#include "backends/cuda/libraries.h"
#include "backends/cuda/queue.h"

namespace {

// Blocks of powers of two, given back to lists by their size; never to the system.
class PinnedHeap {
 public:
  void* take(size_t bytes) {
    // The CUDA runtime may want memory while it is asked for some.
    if (inside_) return plain(bytes);
    int size_class = kSmallest;
    while (size_class < kLargest && size_t{1} << size_class < bytes + kHeader) ++size_class;
    if (size_t{1} << size_class < bytes + kHeader) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    Block* block = lists_[size_class];
    if (block != nullptr) {
      lists_[size_class] = block->next;
    } else {
      block = cut(size_t{1} << size_class);
      if (block == nullptr) return nullptr;
    }
    block->size_class = size_class;
    return reinterpret_cast<char*>(block) + kHeader;
  }

  void give_back(void* memory) {
    if (memory == nullptr) return;
    auto* block = reinterpret_cast<Block*>(static_cast<char*>(memory) - kHeader);
    if (block->size_class == kPlain) return std::free(block);
    const std::lock_guard<std::mutex> lock(mutex_);
    block->next = lists_[block->size_class];
    lists_[block->size_class] = block;
  }

 private:
  struct Block {
    Block* next;
    int size_class;
  };
  static constexpr size_t kHeader = 64;  // keeps the alignment of operator new, and more
  static constexpr int kSmallest = 7;
  static constexpr int kLargest = 30;
  static constexpr int kPlain = -1;
  static constexpr size_t kSlab = size_t{128} << 20;

  static void* plain(size_t bytes) {
    const size_t whole = (bytes + kHeader + 63) / 64 * 64;
    auto* block = static_cast<Block*>(std::aligned_alloc(64, whole));
    if (block == nullptr) return nullptr;
    block->size_class = kPlain;
    return reinterpret_cast<char*>(block) + kHeader;
  }

  Block* cut(size_t bytes) {
    if (bytes > left_) {
      const size_t slab = bytes > kSlab ? bytes : kSlab;
      void* memory = nullptr;
      inside_ = true;
      if (cudaHostAlloc(&memory, slab, cudaHostAllocMapped) != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        memory = std::aligned_alloc(128, slab);
      }
      inside_ = false;
      if (memory == nullptr) return nullptr;
      at_ = static_cast<char*>(memory);
      left_ = slab;
    }
    auto* block = reinterpret_cast<Block*>(at_);
    at_ += bytes;
    left_ -= bytes;
    return block;
  }

  static thread_local bool inside_;
  std::mutex mutex_;
  char* at_ = nullptr;
  size_t left_ = 0;
  Block* lists_[kLargest + 1] = {};
};

thread_local bool PinnedHeap::inside_ = false;

PinnedHeap& heap() {
  // Made before anything else, and never destroyed.
  alignas(PinnedHeap) static char room[sizeof(PinnedHeap)];
  static PinnedHeap* made = new (room) PinnedHeap();
  return *made;
}

}  // namespace

// Not inlined: the compiler would see that blocks have something in front of them.
#define BERTH_APART __attribute__((noinline))
BERTH_APART void* operator new(size_t bytes) {
  void* memory = heap().take(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
BERTH_APART void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return heap().take(bytes); }
BERTH_APART void operator delete(void* memory) noexcept { heap().give_back(memory); }
void operator delete[](void* memory) noexcept { operator delete(memory); }
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
void operator delete[](void* memory, size_t) noexcept { operator delete(memory); }

namespace berth::cuda {
namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;

// One stream for all tests, with the libraries unless the environment says otherwise.
struct Device : Libraries {
  Device() {
    const Result<DeviceStream*> made = allocator.create_stream(0);
    if (!made.ok()) std::abort();
    stream = *made;
    CudaStream* cuda_stream = CudaStream::of(stream);
    queue.stream = cuda_stream->get();
    queue.fault = cuda_stream->fault();
    const Result<void*> memory = allocator.allocate(kWorkspaceBytes, 0, 256);
    if (!memory.ok()) std::abort();
    queue.scratch = *memory;
    queue.scratch_bytes = kWorkspaceBytes;
    if (std::getenv("BERTH_TEST_WITHOUT_LIBRARIES") != nullptr) return;
    blas = CudaBlas::create({*memory, kWorkspaceBytes});
    dnn = CudaDnn::create({*memory, kWorkspaceBytes});
    if (blas != nullptr) blas->use(cuda_stream->get());
    if (dnn != nullptr) dnn->use(cuda_stream->get());
    queue.libraries = this;
  }
  bool product(const portable::Product& p) override {
    const bool done = blas != nullptr && blas->product(p);
    products += done ? 1 : 0;
    return done;
  }
  bool convolution(const portable::Convolution& c, bool accumulate) override {
    const bool done = dnn != nullptr && dnn->convolution(c, accumulate);
    convolutions += done ? 1 : 0;
    return done;
  }

  void forget_failures() override {}

  CudaAllocator allocator;
  DeviceStream* stream = nullptr;
  Queue queue;
  std::unique_ptr<CudaBlas> blas;
  std::unique_ptr<CudaDnn> dnn;
  int64_t products = 0;
  int64_t convolutions = 0;
};

// To the end of the process: the driver may be gone when static objects are destroyed.
Device& device() {
  static Device* made = new Device();
  return *made;
}

class NeedsGpu final : public ::testing::Environment {
 public:
  void SetUp() override {
    if (CudaAllocator().device_count() == 0) GTEST_SKIP() << "this machine has " << describe_devices();
  }
  void TearDown() override {
    if (CudaAllocator().device_count() == 0) return;
    if (std::getenv("BERTH_TEST_WITHOUT_LIBRARIES") == nullptr) {
      EXPECT_TRUE(device().blas == nullptr || device().products > 0) << "cuBLASLt is there and took nothing";
      EXPECT_TRUE(device().dnn == nullptr || device().convolutions > 0) << "cuDNN is there and took nothing";
    }
    std::printf("products by cuBLASLt: %lld, convolutions by cuDNN: %lld\n", static_cast<long long>(device().products),
                static_cast<long long>(device().convolutions));
  }
};

const ::testing::Environment* const kNeedsGpu = ::testing::AddGlobalTestEnvironment(new NeedsGpu);

}  // namespace

Error run_tested(KernelFunction kernel, KernelContext& context, Span<EValue* const> args) {
  KernelContext inner(context.temp(), nullptr, context.devices(), &device().queue);
  const Error error = kernel(inner, args);
  const Error found = device().allocator.synchronize(device().stream, 0);
  if (error != Error::kOk) return inner.message() == nullptr ? error : context.fail(error, inner.message());
  if (found == Error::kOk) return found;
  return context.fail(found, to_string(CudaStream::of(device().stream)->last_fault()));
}

}  // namespace berth::cuda
