// An allocator of ExecuTorch's interface passes the suite of devices behind its adapter. The interface stands here as
// its header has it (release 1.5, device_allocator.h of its runtime/core): its types are not Berth's.
#include <map>
#include <mutex>
#include <vector>

#include "runtime/host/executorch_allocator.h"
#include "tests/device/conformance.h"

namespace theirs {

enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
using DeviceIndex = int8_t;
enum class Error : uint32_t { Ok = 0x00, InvalidArgument = 0x12, MemoryAllocationFailed = 0x21 };

template <typename T>
class Result {
 public:
  Result(Error error) : error_(error) {}
  Result(T value) : value_(value) {}
  bool ok() const { return error_ == Error::Ok; }
  Error error() const { return error_; }
  const T& get() const { return value_; }

 private:
  Error error_ = Error::Ok;
  T value_ = {};
};

class DeviceAllocator {
 public:
  virtual ~DeviceAllocator() = default;
  virtual Result<void*> allocate(size_t nbytes, DeviceIndex index, size_t alignment = 16) = 0;
  virtual void deallocate(void* ptr, DeviceIndex index) = 0;
  virtual Error copy_host_to_device(void* dst, const void* src, size_t nbytes, DeviceIndex index) = 0;
  virtual Error copy_device_to_host(void* dst, const void* src, size_t nbytes, DeviceIndex index) = 0;
  virtual DeviceType device_type() const = 0;
};

// Memory of the host that claims to be a GPU's.
class Allocator final : public DeviceAllocator {
 public:
  Result<void*> allocate(size_t nbytes, DeviceIndex index, size_t alignment) override {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > 256) return Error::InvalidArgument;
    if (nbytes > size_t{1} << 40) return Error::MemoryAllocationFailed;
    void* memory = std::aligned_alloc(256, (nbytes / 256 + 1) * 256);
    if (memory == nullptr) return Error::MemoryAllocationFailed;
    const std::lock_guard lock(mutex_);
    live_[memory] = index;
    return memory;
  }
  void deallocate(void* ptr, DeviceIndex index) override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(live_.count(ptr), 1u);
    EXPECT_EQ(live_[ptr], index);
    live_.erase(ptr);
    std::free(ptr);
  }
  Error copy_host_to_device(void* dst, const void* src, size_t nbytes, DeviceIndex) override {
    std::memcpy(dst, src, nbytes);
    return Error::Ok;
  }
  Error copy_device_to_host(void* dst, const void* src, size_t nbytes, DeviceIndex) override {
    std::memcpy(dst, src, nbytes);
    return Error::Ok;
  }
  DeviceType device_type() const override { return DeviceType::CUDA; }

  int64_t live() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(live_.size());
  }

 private:
  mutable std::mutex mutex_;
  std::map<void*, DeviceIndex> live_;
};

}  // namespace theirs

namespace berth::device_tests {
namespace {

class ExecuTorchs final : public DeviceUnderTest {
 public:
  DeviceType type() override { return DeviceType::kCuda; }
  DeviceAllocator& allocator() override { return adapter_; }
  int64_t live() override { return theirs_.live(); }

 private:
  theirs::Allocator theirs_;
  ExecuTorchAllocator<theirs::Allocator> adapter_{&theirs_, 2};
};

}  // namespace
}  // namespace berth::device_tests

BERTH_DEVICE_CONFORMANCE(ExecuTorchs, [] { return std::unique_ptr<DeviceUnderTest>(new ExecuTorchs); });
