// Convolutions by the room's own use of cuDNN, on a library that ends the process when it is told something untrue
// (fake_dnn.h), against sums in double. The fears: a descriptor that happens to fit, an algorithm that rounds otherwise
// or in another order, results of one stream in another's workspace, a library that is asked again in every run.

#include "backends/cuda/fake/fake_dnn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "backends/cuda/device/cuda_stream.h"
#include "backends/cuda/device/cuda_workbench.h"
#include "backends/cuda/fake/fake_runtime.h"

namespace berth::cuda {
namespace {

using portable::Convolution;

class Stream {
 public:
  Stream() : stream_(*CudaAllocator().create_stream(0)) {}
  ~Stream() { CudaAllocator().destroy_stream(stream_, 0); }
  cudaStream_t get() const { return CudaStream::of(stream_)->get(); }
  void wait() const { ASSERT_EQ(CudaAllocator().synchronize(stream_, 0), Error::kOk); }

 private:
  DeviceStream* stream_;
};

// A tensor of the fake device, whose memory is the host's too; `off` numbers behind the beginning of a block.
class Numbers {
 public:
  Numbers(std::mt19937& random, std::vector<int32_t> sizes, DType dtype, int off = 0)
      : sizes_(std::move(sizes)), strides_(sizes_.size()) {
    int64_t count = 1;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      order_.push_back(static_cast<uint8_t>(d));
      count *= sizes_[d];
    }
    const size_t size = element_size(dtype);
    block_ = *CudaAllocator().allocate((count + off) * size, 0, 256);
    tensor_ = Tensor(dtype, static_cast<int>(sizes_.size()), sizes_.data(), order_.data(), strides_.data(),
                     static_cast<char*>(block_) + off * size);
    for (int64_t i = 0; i < count; ++i) set(i, static_cast<double>(random() % 17) - 8);
  }
  ~Numbers() { CudaAllocator().deallocate(block_, 0); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  Tensor& tensor() { return tensor_; }
  int64_t count() const { return tensor_.numel(); }
  double at(int64_t i) const {
    return tensor_.dtype() == DType::kF64 ? tensor_.data<double>()[i] : tensor_.data<float>()[i];
  }

 private:
  void set(int64_t i, double x) {
    if (tensor_.dtype() == DType::kF64) {
      tensor_.data<double>()[i] = x;
    } else {
      tensor_.data<float>()[i] = static_cast<float>(x);
    }
  }

  std::vector<int32_t> sizes_;
  std::vector<uint8_t> order_;
  std::vector<int64_t> strides_;
  void* block_ = nullptr;
  Tensor tensor_;
};

int32_t number(std::mt19937& random, int32_t least, int32_t most) {
  return least + static_cast<int32_t>(random() % static_cast<uint32_t>(most - least + 1));
}

// A convolution of one to three axes with all that it may have, and what it must give.
class RandomConvolution {
 public:
  explicit RandomConvolution(std::mt19937& random, int off = 0) {
    c_.spatial = number(random, 1, 3);
    c_.transposed = random() % 3 == 0;
    c_.batch = number(random, 1, 2);
    c_.groups = number(random, 1, 3);
    c_.in_channels = number(random, 1, 3);
    c_.out_channels = number(random, 1, 3);
    accumulates_ = random() % 3 == 0;
    for (int i = 3 - c_.spatial; i < 3; ++i) set_axis(random, &c_.axis[i]);
    const DType dtype = random() % 4 == 0 ? DType::kF64 : DType::kF32;
    const auto make = [&](std::vector<int32_t> sizes, int64_t Convolution::Axis::*size) {
      for (int i = 3 - c_.spatial; i < 3; ++i) sizes.push_back(static_cast<int32_t>(c_.axis[i].*size));
      return std::make_unique<Numbers>(random, sizes, dtype, off);
    };
    const auto whole = [](int64_t a) { return static_cast<int32_t>(a); };
    const int32_t ins = whole(c_.in_channels * c_.groups);
    const int32_t outs = whole(c_.out_channels * c_.groups);
    input_ = make({whole(c_.batch), ins}, &Convolution::Axis::in);
    weight_ = make({c_.transposed ? ins : outs, whole(c_.transposed ? c_.out_channels : c_.in_channels)},
                   &Convolution::Axis::kernel);
    out_ = make({whole(c_.batch), outs}, &Convolution::Axis::out);
    if (random() % 2 == 0) bias_ = std::make_unique<Numbers>(random, std::vector<int32_t>{outs}, dtype, off);
    c_.input = &input_->tensor();
    c_.weight = &weight_->tensor();
    c_.out = &out_->tensor();
    c_.bias = bias_ == nullptr ? nullptr : &bias_->tensor();
    for (int64_t i = 0; i < out_->count(); ++i) expected_.push_back(start(i));
    for (int64_t i = 0; i < out_->count() || i < input_->count(); ++i) add_products(i);
  }

  bool run(CudaDnn* dnn) const { return dnn->convolution(c_, accumulates_); }
  const Convolution& convolution() const { return c_; }
  void expect_right() const {
    for (int64_t i = 0; i < out_->count(); ++i) EXPECT_EQ(out_->at(i), expected_[i]) << "element " << i;
  }

 private:
  // The padding behind a transposed one's result is less than a step.
  void set_axis(std::mt19937& random, Convolution::Axis* axis) const {
    axis->kernel = number(random, 1, 3);
    axis->stride = number(random, 1, 3);
    axis->dilation = number(random, 1, 2);
    const auto reach = static_cast<int32_t>(axis->dilation * (axis->kernel - 1) + 1);
    axis->padding = number(random, 0, (reach - 1) / 2);
    const int64_t inner = reach - 2 * axis->padding;
    if (c_.transposed) {
      axis->output_padding = number(random, 0, static_cast<int32_t>(axis->stride) - 1);
      axis->in = number(random, 1, 5);
      axis->out = (axis->in - 1) * axis->stride + inner + axis->output_padding;
    } else {
      axis->in = inner + number(random, 0, 6);
      axis->out = (axis->in - inner) / axis->stride + 1;
    }
  }

  double start(int64_t i) const {
    const int64_t plane = c_.axis[0].out * c_.axis[1].out * c_.axis[2].out;
    const int64_t channels = c_.out_channels * c_.groups;
    return (accumulates_ ? out_->at(i) : 0) + (bias_ == nullptr ? 0 : bias_->at(i / plane % channels));
  }

  // All products with element i of what is fewer steps: the output of a forward one, the input of a transposed one.
  void add_products(int64_t i) {
    if (i >= (c_.transposed ? input_ : out_)->count()) return;
    const auto size = [&](int axis, bool large) {
      const Convolution::Axis& a = c_.axis[axis];
      return large == c_.transposed ? a.out : a.in;
    };
    int64_t rest = i;
    int64_t at[3];
    for (int axis = 2; axis >= 0; --axis) {
      at[axis] = rest % size(axis, false);
      rest /= size(axis, false);
    }
    const int64_t near = c_.transposed ? c_.in_channels : c_.out_channels;  // channels of a group, of i's side
    const int64_t far = c_.transposed ? c_.out_channels : c_.in_channels;
    const int64_t channel = rest % (near * c_.groups);
    const int64_t image = rest / (near * c_.groups);
    const int64_t group = channel / near;
    int64_t tap = channel * far * c_.axis[0].kernel * c_.axis[1].kernel * c_.axis[2].kernel;
    for (int64_t other = group * far; other < (group + 1) * far; ++other) {
      for (int64_t z = 0; z < c_.axis[0].kernel; ++z) {
        for (int64_t y = 0; y < c_.axis[1].kernel; ++y) {
          for (int64_t x = 0; x < c_.axis[2].kernel; ++x, ++tap) {
            const int64_t taps[] = {z, y, x};
            int64_t place = image * far * c_.groups + other;
            bool inside = true;
            for (int axis = 0; axis < 3; ++axis) {
              const Convolution::Axis& a = c_.axis[axis];
              const int64_t p = at[axis] * a.stride - a.padding + taps[axis] * a.dilation;
              inside = inside && p >= 0 && p < size(axis, true);
              place = place * size(axis, true) + p;
            }
            if (!inside) continue;
            const int64_t from = c_.transposed ? i : place;
            expected_[c_.transposed ? place : i] += input_->at(from) * weight_->at(tap);
          }
        }
      }
    }
  }

  Convolution c_;
  bool accumulates_ = false;
  std::unique_ptr<Numbers> input_, weight_, out_, bias_;
  std::vector<double> expected_;
};

class Dnn : public ::testing::Test {
 protected:
  void SetUp() override {
    fake::reset(0);
    workbench_ = std::move(*CudaWorkbench::create(0));
    ASSERT_NE(workbench_->dnn(), nullptr);
  }
  void TearDown() override { fake::fail_convolutions(false); }
  std::unique_ptr<CudaWorkbench> workbench_;
};

TEST_F(Dnn, EveryConvolutionGivesTheSumsOfItsProducts) {
  std::mt19937 random(7);
  const Stream stream;
  workbench_->dnn()->use(stream.get());
  int transposed = 0;
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    SCOPED_TRACE(::testing::Message() << "convolution " << i);
    RandomConvolution one(random);
    ASSERT_TRUE(one.run(workbench_->dnn()));
    stream.wait();
    one.expect_right();
    transposed += one.convolution().transposed ? 1 : 0;
  }
  EXPECT_GT(transposed, 400);
}

// Without room only the algorithm that needs none is left, which transposed ones do not have.
TEST_F(Dnn, WhatDoesNotFitIntoTheWorkspaceIsNotTaken) {
  std::mt19937 random(8);
  const Stream stream;
  const std::unique_ptr<CudaDnn> dnn = CudaDnn::create({workbench_->workspace().memory, 7});
  dnn->use(stream.get());
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    RandomConvolution one(random);
    const bool taken = one.run(dnn.get());
    EXPECT_EQ(taken, !one.convolution().transposed);
    stream.wait();
    if (taken) one.expect_right();
  }
}

// Its kernels load 16 bytes at once; a caller's memory may lie anywhere.
TEST_F(Dnn, TensorsThatAreNotAlignedAreLeftToOthers) {
  std::mt19937 random(9);
  const Stream stream;
  workbench_->dnn()->use(stream.get());
  const int64_t asked = fake::dnn_counts().questions;
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(RandomConvolution(random, 1).run(workbench_->dnn()));
  EXPECT_EQ(fake::dnn_counts().questions, asked);
}

// What the library does between two launches must not be seen by another stream's.
TEST_F(Dnn, StreamsThatShareAWorkspaceTakeTurns) {
  workbench_.reset();
  for (uint32_t seed = 1; seed <= 100 && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    fake::reset(seed);
    std::mt19937 random(seed);
    std::unique_ptr<CudaWorkbench> workbench = std::move(*CudaWorkbench::create(0));
    const Stream streams[2];
    std::vector<std::unique_ptr<RandomConvolution>> convolutions;
    for (size_t i = 0; i < 12; ++i) convolutions.push_back(std::make_unique<RandomConvolution>(random));
    for (size_t i = 0; i < convolutions.size(); ++i) {
      std::unique_lock<std::mutex> turn;
      ASSERT_EQ(workbench->enter(streams[i % 2].get(), &turn), Error::kOk);
      ASSERT_TRUE(convolutions[i]->run(workbench->dnn()));
    }
    for (const Stream& stream : streams) stream.wait();
    for (const auto& one : convolutions) one->expect_right();
    for (const Stream& stream : streams) workbench->leave_for_good(stream.get());
  }
}

TEST_F(Dnn, AConvolutionIsAskedAboutOnceAlsoWhereItFails) {
  std::mt19937 random(3);
  const Stream stream;
  workbench_->dnn()->use(stream.get());
  std::vector<std::unique_ptr<RandomConvolution>> all;
  for (int i = 0; i < 60; ++i) all.push_back(std::make_unique<RandomConvolution>(random));
  fake::fail_convolutions(true);
  for (const auto& one : all) EXPECT_FALSE(one->run(workbench_->dnn()));
  const int64_t asked = fake::dnn_counts().questions;
  fake::fail_convolutions(false);
  for (const auto& one : all) EXPECT_FALSE(one->run(workbench_->dnn())) << "it is remembered as one that fails";
  EXPECT_EQ(fake::dnn_counts().questions, asked);
  workbench_->dnn()->forget();
  for (const auto& one : all) EXPECT_TRUE(one->run(workbench_->dnn()));
  const int64_t again = fake::dnn_counts().questions;
  EXPECT_GT(again, asked);
  for (const auto& one : all) EXPECT_TRUE(one->run(workbench_->dnn()));
  EXPECT_EQ(fake::dnn_counts().questions, again);
  stream.wait();
}

}  // namespace
}  // namespace berth::cuda
