// OnDevice: tensors of a test in a device's memory, and kernels of this room that are asked to work on them.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "backends/vulkan/session.h"
#include "backends/vulkan/vulkan_allocator.h"
#include "kernels/portable/kernel_testing.h"

namespace berth::vulkan {

/// The arrays have addresses of the device while this lives, and their own memory again behind it.
class OnDevice {
 public:
  OnDevice(VulkanAllocator& device, std::vector<testing::Array> arrays) : device_(device), arrays_(std::move(arrays)) {
    const Result<DeviceStream*> made = device_.create_stream(0);
    EXPECT_TRUE(made.ok());
    stream = *made;
    session.gpu = device_.gpu(0);
    session.blocks = &device_.blocks();
    session.stream = device_.stream(stream);
    for (const testing::Array& array : arrays_) {
      Tensor& tensor = array.tensor();
      host_.push_back(tensor.raw());
      const Result<void*> memory = device_.allocate(tensor.nbytes(), 0);
      EXPECT_TRUE(memory.ok());
      EXPECT_EQ(device_.copy_host_to_device(*memory, tensor.raw(), tensor.nbytes(), 0, stream), Error::kOk);
      tensor.set_data(*memory);
    }
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    for (size_t i = 0; i < arrays_.size(); ++i) {
      device_.deallocate(arrays_[i].tensor().raw(), 0);
      arrays_[i].tensor().set_data(host_[i]);
    }
    device_.destroy_stream(stream, 0);
  }

  /// The kernel asks for work, which session.run_steps() does.
  Error ask(testing::Kernel kernel, std::vector<testing::Arg> args) {
    std::vector<EValue*> values;
    for (testing::Arg& arg : args) values.push_back(arg.value());
    KernelContext context({}, nullptr, {}, &session);
    const Error error = kernel(context, values);
    if (error != Error::kOk) message = context.message() == nullptr ? "" : context.message();
    return error;
  }

  /// What the device has becomes the array's own.
  void read(const testing::Array& array) {
    for (size_t i = 0; i < arrays_.size(); ++i) {
      const Tensor& tensor = arrays_[i].tensor();
      if (&tensor != &array.tensor()) continue;
      EXPECT_EQ(device_.copy_device_to_host(host_[i], tensor.raw(), tensor.nbytes(), 0, stream), Error::kOk);
    }
  }
  /// The same, as numbers.
  std::vector<float> floats(const testing::Array& array) {
    std::vector<float> elements(array.tensor().numel());
    const Tensor& tensor = array.tensor();
    EXPECT_EQ(device_.copy_device_to_host(elements.data(), tensor.raw(), tensor.nbytes(), 0, stream), Error::kOk);
    return elements;
  }

  DeviceStream* stream = nullptr;
  Session session;
  std::string message;  // of the last kernel that did not

 private:
  VulkanAllocator& device_;
  std::vector<testing::Array> arrays_;
  std::vector<void*> host_;
};

}  // namespace berth::vulkan
