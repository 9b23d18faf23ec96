// The kernels on a GPU. Everything that the tests take from the heap once main() runs lies in pinned memory, which the
// device reaches at the host's addresses; so a test's tensors are ones of the device, and the test reads them when the
// kernel is done.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>

#include "backends/cuda/device/cuda_allocator.h"
#include "backends/cuda/device/cuda_blas.h"
#include "backends/cuda/device/cuda_dnn.h"
#include "backends/cuda/device/cuda_stream.h"
#include "backends/cuda/kernels_test/pinned_heap.h"
#include "backends/cuda/kernels_test/tested.h"
#include "backends/cuda/libraries.h"
#include "backends/cuda/queue.h"

namespace {

using berth::cuda::PinnedHeap;

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
    constexpr uint32_t kNone[kTickets] = {};
    const Result<void*> memory = allocator.allocate(kWorkspaceBytes + sizeof kNone, 0, 256);
    if (!memory.ok()) std::abort();
    queue.tickets = reinterpret_cast<uint32_t*>(static_cast<uint8_t*>(*memory) + kWorkspaceBytes);
    if (allocator.copy_host_to_device(queue.tickets, kNone, sizeof kNone, 0, nullptr) != Error::kOk) std::abort();
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
    // The CUDA runtime must not be called before main(). Static objects of the tests hold no tensors.
    heap().begin(std::getenv("BERTH_TEST_EXACT_BLOCKS") != nullptr ? PinnedHeap::Blocks::kExact
                                                                   : PinnedHeap::Blocks::kShared);
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
