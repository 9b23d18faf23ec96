// The three copies, called as the runtime calls them, on a device that records what is asked of it.

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "kernels/portable/kernel_testing.h"
#include "kernels/portable/portable.h"
#include "runtime/pending_reads.h"
#include "runtime/recording_allocator_testing.h"

namespace berth::portable {
namespace {

using berth::testing::kCuda0;
using berth::testing::RecordingAllocator;
using Kind = RecordingAllocator::Kind;

constexpr Device kCuda1 = Device(DeviceType::kCuda, 1);

// A float tensor of up to two dimensions with memory where it is said to lie.
class Made {
 public:
  Made(RecordingAllocator& allocator, std::vector<int32_t> sizes, Device device,
       ShapeDynamism dynamism = ShapeDynamism::kStatic, DType dtype = DType::kF32)
      : allocator_(allocator), sizes_(std::move(sizes)), strides_(sizes_.size()), device_(device) {
    for (size_t i = 0; i < sizes_.size(); ++i) order_.push_back(static_cast<uint8_t>(i));
    size_t bytes = 8;
    for (const int32_t size : sizes_) bytes *= static_cast<size_t>(size);
    memory_ = device.is_cpu() ? std::malloc(bytes) : allocator.allocate(bytes, device.index, 16).value();
    tensor_ = Tensor(dtype, static_cast<int>(sizes_.size()), sizes_.data(), order_.data(), strides_.data(), memory_,
                     dynamism, device);
    for (int64_t i = 0; i < tensor_.numel(); ++i) floats()[i] = static_cast<float>(i) + 0.5f;
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() {
    if (device_.is_cpu()) {
      std::free(memory_);
    } else {
      allocator_.deallocate(memory_, device_.index);
    }
  }

  float* floats() {
    float* data = static_cast<float*>(memory_);
    return device_.is_cpu() ? data : RecordingAllocator::host(data);
  }
  void clear() { std::memset(floats(), 0, tensor_.nbytes()); }
  Tensor& tensor() { return tensor_; }

 private:
  RecordingAllocator& allocator_;
  std::vector<int32_t> sizes_;
  std::vector<uint8_t> order_;
  std::vector<int64_t> strides_;
  Device device_;
  void* memory_;
  Tensor tensor_;
};

class DeviceCopyTest : public ::testing::Test {
 protected:
  Error call(testing::Kernel kernel, Made& self, Made& out) {
    EValue arguments[] = {EValue(&self.tensor()), EValue(&out.tensor())};
    EValue* const args[] = {&arguments[0], &arguments[1]};
    KernelContext context({}, nullptr, DeviceTable(uses_));
    context.set_state(pending_);
    const Error error = kernel(context, {args, 2});
    message_ = context.message() == nullptr ? "" : context.message();
    return error;
  }

  PendingReads* pending_ = nullptr;  // a Method's
  RecordingAllocator cuda_;
  RecordingAllocator sim_{DeviceType::kSim};
  DeviceStream* streams_[3] = {reinterpret_cast<DeviceStream*>(1), reinterpret_cast<DeviceStream*>(2),
                               reinterpret_cast<DeviceStream*>(3)};
  std::vector<DeviceUse> uses_ = {
      {kCuda0, &cuda_, streams_[0]}, {kCuda1, &cuda_, streams_[1]}, {Device(DeviceType::kSim), &sim_, streams_[2]}};
  std::string message_;
};

// Holds row 66, row 88.
TEST_F(DeviceCopyTest, HostToDeviceIsOneCopyOfTheTensorsBytes) {
  Made self(cuda_, {4}, Device());
  Made out(cuda_, {4}, kCuda0);
  out.clear();
  ASSERT_EQ(call(h2d_copy_out, self, out), Error::kOk);
  ASSERT_EQ(cuda_.copies(), 1u);
  const auto copy = cuda_.calls(Kind::kHostToDevice).at(0);
  EXPECT_EQ(copy.bytes, 16u);
  EXPECT_EQ(copy.index, 0);
  EXPECT_EQ(copy.target, out.tensor().raw());
  EXPECT_EQ(copy.source, self.tensor().raw());
  EXPECT_EQ(copy.stream, streams_[0]);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out.floats()[i], static_cast<float>(i) + 0.5f);
}

// Holds row 67.
TEST_F(DeviceCopyTest, DeviceToHostIsTheMirrorImage) {
  Made self(cuda_, {4}, kCuda0);
  Made out(cuda_, {4}, Device());
  out.clear();
  ASSERT_EQ(call(d2h_copy_out, self, out), Error::kOk);
  ASSERT_EQ(cuda_.copies(), 1u);
  const auto copy = cuda_.calls(Kind::kDeviceToHost).at(0);
  EXPECT_EQ(copy.bytes, 16u);
  EXPECT_EQ(copy.index, 0);
  EXPECT_EQ(copy.stream, streams_[0]);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out.floats()[i], static_cast<float>(i) + 0.5f);
}

// Holds row 68.
TEST_F(DeviceCopyTest, TheDeviceIndexIsUsed) {
  Made host(cuda_, {4}, Device());
  Made device(cuda_, {4}, kCuda1);
  ASSERT_EQ(call(h2d_copy_out, host, device), Error::kOk);
  ASSERT_EQ(call(d2h_copy_out, device, host), Error::kOk);
  for (const Kind kind : {Kind::kHostToDevice, Kind::kDeviceToHost}) {
    EXPECT_EQ(cuda_.calls(kind).at(0).index, 1);
    EXPECT_EQ(cuda_.calls(kind).at(0).stream, streams_[1]);
  }
}

// Holds row 69.
TEST_F(DeviceCopyTest, SeveralDimensionsArriveWhole) {
  Made self(cuda_, {2, 3}, Device());
  Made out(cuda_, {2, 3}, kCuda0);
  out.clear();
  ASSERT_EQ(call(h2d_copy_out, self, out), Error::kOk);
  EXPECT_EQ(cuda_.calls(Kind::kHostToDevice).at(0).bytes, 24u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out.floats()[i], static_cast<float>(i) + 0.5f);
}

// Holds row 70, row 72, row 75.
TEST_F(DeviceCopyTest, ASmallerTensorCopiesOnlyItsElements) {
  for (const int32_t size : {4, 8}) {
    RecordingAllocator& cuda = cuda_;
    const size_t before = cuda.copies();
    Made host(cuda, {size}, Device());
    Made on_device(cuda, {8}, kCuda0, ShapeDynamism::kBounded);
    ASSERT_EQ(call(h2d_copy_out, host, on_device), Error::kOk) << message_;
    EXPECT_EQ(on_device.tensor().size(0), size);
    Made back(cuda, {8}, Device(), ShapeDynamism::kBounded);
    ASSERT_EQ(call(d2h_copy_out, on_device, back), Error::kOk) << message_;
    EXPECT_EQ(back.tensor().size(0), size);
    ASSERT_EQ(cuda.copies(), before + 2);
    EXPECT_EQ(cuda.calls(Kind::kHostToDevice).back().bytes, static_cast<size_t>(size) * 4);
    EXPECT_EQ(cuda.calls(Kind::kDeviceToHost).back().bytes, static_cast<size_t>(size) * 4);
  }
}

// Holds row 71, row 76.
TEST_F(DeviceCopyTest, WhatDoesNotFitIsNotCopied) {
  for (const ShapeDynamism dynamism : {ShapeDynamism::kStatic, ShapeDynamism::kBounded}) {
    Made host(cuda_, {4}, Device());
    Made small(cuda_, {2}, kCuda0, dynamism);
    EXPECT_EQ(call(h2d_copy_out, host, small), Error::kInvalidArgument);
    EXPECT_EQ(message_, "self does not fit into out");
    Made on_device(cuda_, {4}, kCuda0);
    Made small_host(cuda_, {2}, Device(), dynamism);
    EXPECT_EQ(call(d2h_copy_out, on_device, small_host), Error::kInvalidArgument);
    Made small_other(cuda_, {2}, kCuda1, dynamism);
    EXPECT_EQ(call(d2d_copy_out, on_device, small_other), Error::kInvalidArgument);
    EXPECT_EQ(small.tensor().size(0), 2);
  }
  EXPECT_EQ(cuda_.copies(), 0u);
}

// Holds row 76.
TEST_F(DeviceCopyTest, AnotherElementTypeIsRefused) {
  Made self(cuda_, {4}, Device());
  Made out(cuda_, {4}, kCuda0, ShapeDynamism::kStatic, DType::kI32);
  EXPECT_EQ(call(h2d_copy_out, self, out), Error::kInvalidArgument);
  EXPECT_EQ(message_, "self and out have different dtypes");
  EXPECT_EQ(call(d2h_copy_out, out, self), Error::kInvalidArgument);
  EXPECT_EQ(cuda_.copies(), 0u);
}

// Holds row 73, row 74.
TEST_F(DeviceCopyTest, WrongDevicesMissingAllocatorsAndFailuresAreErrors) {
  Made host(cuda_, {4}, Device());
  Made other_host(cuda_, {4}, Device());
  Made device(cuda_, {4}, kCuda0);
  Made other_device(cuda_, {4}, kCuda1);
  Made sim(sim_, {4}, Device(DeviceType::kSim));
  const auto refused = [this](testing::Kernel kernel, Made& self, Made& out, const char* message) {
    EXPECT_EQ(call(kernel, self, out), Error::kInvalidArgument) << message;
    EXPECT_EQ(message_, message);
  };
  refused(h2d_copy_out, device, other_device, "self is not on the host");
  refused(h2d_copy_out, host, other_host, "out is not on a device");
  refused(d2h_copy_out, host, other_host, "self is not on a device");
  refused(d2h_copy_out, device, other_device, "out is not on the host");
  refused(d2d_copy_out, host, device, "self is not on a device");
  refused(d2d_copy_out, device, host, "self and out are on devices of different types");
  refused(d2d_copy_out, device, sim, "self and out are on devices of different types");
  EXPECT_EQ(cuda_.copies() + sim_.copies(), 0u);

  cuda_.fail_copy = 1;
  EXPECT_EQ(call(h2d_copy_out, host, device), Error::kInternal);
  EXPECT_EQ(message_, "the device's allocator could not copy");
  // What the device knows is said instead.
  cuda_.explanation = "index 9 is outside";
  const auto explained = [this](testing::Kernel kernel, Made& self, Made& out) {
    cuda_.fail_copy = cuda_.copies() + 1;
    EXPECT_EQ(call(kernel, self, out), Error::kInternal);
    EXPECT_EQ(message_, "index 9 is outside");
  };
  explained(h2d_copy_out, host, device);
  explained(d2h_copy_out, device, host);
  explained(d2d_copy_out, device, other_device);
  uses_.clear();
  EXPECT_EQ(call(h2d_copy_out, host, device), Error::kNotFound);
  EXPECT_EQ(call(d2h_copy_out, device, host), Error::kNotFound);
  EXPECT_EQ(call(d2d_copy_out, device, other_device), Error::kNotFound);
  EXPECT_EQ(cuda_.copies(), 4u);
}

// Holds row 77.
TEST_F(DeviceCopyTest, NothingTouchesNothing) {
  Made host(cuda_, {0, 3}, Device());
  Made device(cuda_, {0, 3}, kCuda0);
  Made other(cuda_, {0, 3}, kCuda1);
  const size_t before = cuda_.calls().size();
  EXPECT_EQ(call(h2d_copy_out, host, device), Error::kOk);
  EXPECT_EQ(call(d2h_copy_out, device, host), Error::kOk);
  EXPECT_EQ(call(d2d_copy_out, device, other), Error::kOk);
  EXPECT_EQ(cuda_.calls().size(), before);
}

TEST_F(DeviceCopyTest, BetweenDevicesIsDirectAndInOrder) {
  Made self(cuda_, {4}, kCuda0);
  Made out(cuda_, {4}, kCuda1);
  out.clear();
  ASSERT_EQ(call(d2d_copy_out, self, out), Error::kOk);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out.floats()[i], static_cast<float>(i) + 0.5f);
  const auto calls = cuda_.calls();
  ASSERT_GE(calls.size(), 5u);
  const auto& record = calls[calls.size() - 5];
  const auto& wait = calls[calls.size() - 4];
  const auto& copy = calls[calls.size() - 3];
  const auto& copied = calls[calls.size() - 2];
  const auto& next = calls[calls.size() - 1];
  EXPECT_EQ(record.kind, Kind::kRecord);
  EXPECT_EQ(record.stream, streams_[0]);
  EXPECT_EQ(record.index, 0);
  EXPECT_EQ(wait.kind, Kind::kWait);
  EXPECT_EQ(wait.stream, streams_[1]);
  EXPECT_EQ(wait.index, 1);
  EXPECT_EQ(copy.kind, Kind::kDeviceToDevice);
  EXPECT_EQ(copy.bytes, 16u);
  EXPECT_EQ(copy.index, 1);
  EXPECT_EQ(copy.source_index, 0);
  EXPECT_EQ(copy.stream, streams_[1]);
  // What comes next on the source's device may be given the bytes that are read here.
  EXPECT_EQ(copied.kind, Kind::kRecord);
  EXPECT_EQ(copied.stream, streams_[1]);
  EXPECT_EQ(next.kind, Kind::kWait);
  EXPECT_EQ(next.stream, streams_[0]);
}

TEST_F(DeviceCopyTest, InAMethodTheSourcesDeviceGoesOnUntilTheStreamIsMarkedAnew) {
  PendingReads pending;
  pending_ = &pending;
  Made first(cuda_, {4}, kCuda0);
  Made second(cuda_, {4}, kCuda1);
  ASSERT_EQ(call(d2d_copy_out, first, second), Error::kOk);
  EXPECT_EQ(cuda_.count(Kind::kWait), 1u) << "the target's for the source";
  EXPECT_EQ(cuda_.calls().back().kind, Kind::kRecord);
  EXPECT_FALSE(pending.empty());
  // Back again: this marks the second device's stream, for which the first one has not been told to wait yet.
  const size_t before = cuda_.calls().size();
  ASSERT_EQ(call(d2d_copy_out, second, first), Error::kOk);
  const auto calls = cuda_.calls();
  ASSERT_EQ(calls.size(), before + 5);
  EXPECT_EQ(calls[before].kind, Kind::kWait);
  EXPECT_EQ(calls[before].stream, streams_[0]);
  EXPECT_EQ(calls[before + 1].kind, Kind::kRecord);
  EXPECT_EQ(calls[before + 1].stream, streams_[1]);
  EXPECT_EQ(pending.settle(), Error::kOk);
  EXPECT_EQ(cuda_.calls().back().stream, streams_[1]);
}

TEST_F(DeviceCopyTest, WithinADeviceNeedsNoWaiting) {
  Made self(cuda_, {4}, kCuda0);
  Made out(cuda_, {4}, kCuda0);
  out.clear();
  ASSERT_EQ(call(d2d_copy_out, self, out), Error::kOk);
  EXPECT_EQ(cuda_.count(Kind::kWait), 0u);
  EXPECT_EQ(out.floats()[3], 3.5f);
}

TEST_F(DeviceCopyTest, OnlyTheseKernelsAcceptDevices) {
  size_t count = 0;
  for (const KernelEntry& entry : kernels()) count += entry.takes_devices ? 1 : 0;
  EXPECT_EQ(count, 3u);
}

}  // namespace
}  // namespace berth::portable
