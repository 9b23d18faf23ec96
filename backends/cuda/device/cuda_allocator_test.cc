// The allocator on a machine without a GPU or a driver, which answers every question; and what the conformance suite
// (tests/device/) does not ask of a GPU.
#include "backends/cuda/device/cuda_allocator.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "backends/cuda/device/cuda_backend.h"
#include "backends/cuda/device/cuda_stream.h"
#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/queue.h"
#include "runtime/log.h"

namespace berth::cuda {
namespace {

// What is logged while it lives.
class Log {
 public:
  Log() {
    set_log(
        [](void* self, LogLevel, const char* text) { *static_cast<std::string*>(self) += std::string(text) + "\n"; },
        &text_);
  }
  ~Log() { set_log(nullptr, nullptr); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

bool has_gpu() { return CudaAllocator().device_count() > 0; }

TEST(CudaAllocator, WithoutAGpuRefusesEverythingWithAMessage) {
  if (has_gpu()) GTEST_SKIP() << "there is one";
  const Log log;
  CudaAllocator cuda;
  uint8_t host[4] = {};
  EXPECT_EQ(cuda.allocate(16, 0).error(), Error::kInvalidArgument);
  EXPECT_EQ(cuda.copy_host_to_device(host, host, 4, 0), Error::kInvalidArgument);
  EXPECT_EQ(cuda.copy_device_to_host(host, host, 4, 0), Error::kInvalidArgument);
  EXPECT_EQ(cuda.copy_device_to_device(host, 0, host, 0, 4), Error::kInvalidArgument);
  EXPECT_EQ(cuda.create_stream(0).error(), Error::kInvalidArgument);
  EXPECT_EQ(cuda.synchronize(nullptr, 0), Error::kInvalidArgument);
  EXPECT_EQ(cuda.record(nullptr, 0), Error::kInvalidArgument);
  EXPECT_EQ(cuda.wait(nullptr, 0, nullptr, 0), Error::kInvalidArgument);
  cuda.deallocate(host, 0);
  cuda.deallocate(nullptr, 0);
  cuda.destroy_stream(nullptr, 0);
  EXPECT_NE(log.text().find("device 0 is not there, the machine has 0"), std::string::npos) << log.text();
  EXPECT_TRUE(std::strstr(describe_devices(), "no ") == describe_devices()) << describe_devices();
}

TEST(CudaAllocator, MayBeRegisteredWithoutAGpu) {
  CudaAllocator cuda;
  DeviceAllocatorRegistry registry;
  EXPECT_EQ(registry.register_allocator(&cuda), Error::kOk);
  EXPECT_EQ(registry.get_allocator(DeviceType::kCuda), &cuda);
  const CudaBackend backend;
  EXPECT_STREQ(backend.name(), "berth.cuda");
  EXPECT_TRUE(backend.serves(DeviceType::kCuda));
  EXPECT_FALSE(backend.serves(DeviceType::kSim));
  EXPECT_EQ(backend.sessions(), 0u);
}

// A stream that another allocator made is never followed.
TEST(CudaAllocator, RecognisesStreamsOfOthers) {
  int other = 0;
  EXPECT_FALSE(CudaStream::is_live(reinterpret_cast<DeviceStream*>(&other)));
  EXPECT_FALSE(CudaStream::is_live(nullptr));
}

TEST(CudaAllocator, KeepsTheThreadsCurrentDevice) {
  if (!has_gpu()) GTEST_SKIP() << "this machine has " << describe_devices();
  CudaAllocator cuda;
  const int last = cuda.device_count() - 1;
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  const Result<void*> memory = cuda.allocate(64, static_cast<DeviceIndex>(last));
  ASSERT_TRUE(memory.ok());
  cuda.deallocate(*memory, static_cast<DeviceIndex>(last));
  int current = -1;
  ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 0);
}

// Holds row 78.
TEST(CudaAllocator, CopiesMoveTheDevicesBytes) {
  if (!has_gpu()) GTEST_SKIP() << "this machine has " << describe_devices();
  CudaAllocator cuda;
  // More than one pinned buffer, and not a multiple of one.
  const size_t bytes = 5 * CudaStream::kBufferBytes + 12345;
  std::vector<uint8_t> out(bytes), back(bytes);
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<uint8_t>(i * 7 + i / 251);
  const std::vector<uint8_t> expected = out;
  const Result<void*> memory = cuda.allocate(bytes, 0);
  const Result<DeviceStream*> stream = cuda.create_stream(0);
  ASSERT_TRUE(memory.ok() && stream.ok());
  cudaPointerAttributes attributes{};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, *memory), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  ASSERT_EQ(cuda.copy_host_to_device(*memory, out.data(), bytes, 0, *stream), Error::kOk);
  std::fill(out.begin(), out.end(), uint8_t{0});
  ASSERT_EQ(cuda.copy_device_to_host(back.data(), *memory, bytes, 0, *stream), Error::kOk);
  EXPECT_TRUE(back == expected);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  cuda.destroy_stream(*stream, 0);
  cuda.deallocate(*memory, 0);
}

TEST(CudaAllocator, AKernelsFaultIsReportedOnce) {
  if (!has_gpu()) GTEST_SKIP() << "this machine has " << describe_devices();
  const Log log;
  CudaAllocator cuda;
  const Result<DeviceStream*> stream = cuda.create_stream(0);
  const Result<void*> memory = cuda.allocate(1024, 0);
  ASSERT_TRUE(stream.ok() && memory.ok());
  const int64_t index = 99;
  auto* base = static_cast<uint8_t*>(*memory);
  ASSERT_EQ(cuda.copy_host_to_device(base + 512, &index, sizeof index, 0), Error::kOk);
  Queue queue;
  queue.stream = CudaStream::of(*stream)->get();
  queue.fault = CudaStream::of(*stream)->fault();
  int32_t four = 4, one = 1;
  uint8_t order = 0;
  int64_t strides[3] = {};
  Tensor self(DType::kF32, 1, &four, &order, &strides[0], base);
  Tensor indices(DType::kI64, 1, &one, &order, &strides[1], base + 512);
  Tensor out(DType::kF32, 1, &one, &order, &strides[2], base + 256);
  EValue values[] = {EValue(&self), EValue(int64_t{0}), EValue(&indices), EValue(&out)};
  EValue* const args[] = {&values[0], &values[1], &values[2], &values[3]};
  KernelContext context({}, nullptr, {}, &queue);
  ASSERT_EQ(index_select_out(context, arguments::index_select_out(args)), Error::kOk);
  EXPECT_EQ(cuda.synchronize(*stream, 0), Error::kInvalidArgument);
  EXPECT_NE(log.text().find("an index is outside"), std::string::npos) << log.text();
  EXPECT_EQ(cuda.synchronize(*stream, 0), Error::kOk);
  cuda.deallocate(*memory, 0);
  cuda.destroy_stream(*stream, 0);
}

}  // namespace
}  // namespace berth::cuda
