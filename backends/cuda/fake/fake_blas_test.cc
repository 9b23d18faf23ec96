// Products by the room's own use of cuBLASLt, on a library that ends the process when it is told something untrue
// (fake_blas.h), against sums in double. The fears: a layout that happens to work; results of one stream in another's
// workspace; a library that is asked again in every run.

#include "backends/cuda/fake/fake_blas.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "backends/cuda/device/cuda_stream.h"
#include "backends/cuda/device/cuda_workbench.h"
#include "backends/cuda/fake/fake_runtime.h"

namespace berth::cuda {
namespace {

using portable::Product;

class Stream {
 public:
  Stream() : stream_(*CudaAllocator().create_stream(0)) {}
  ~Stream() { CudaAllocator().destroy_stream(stream_, 0); }
  cudaStream_t get() const { return CudaStream::of(stream_)->get(); }
  void wait() const { ASSERT_EQ(CudaAllocator().synchronize(stream_, 0), Error::kOk); }

 private:
  DeviceStream* stream_;
};

// Numbers of the fake device, which are the host's too; the first one is one of the first four of a block.
class Numbers {
 public:
  Numbers(std::mt19937& random, int64_t count) : count_(count), first_(random() % 4) {
    const size_t bytes = static_cast<size_t>(count + first_) * sizeof(float);
    memory_ = static_cast<float*>(*CudaAllocator().allocate(bytes, 0, 256));
  }
  ~Numbers() { CudaAllocator().deallocate(memory_, 0); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  float* get() const { return memory_ + first_; }
  void set(std::mt19937& random) const {
    for (int64_t i = 0; i < count_; ++i) get()[i] = static_cast<float>(random() % 17) - 8;
  }

 private:
  int64_t count_, first_;
  float* memory_ = nullptr;
};

// The strides of a matrix, by rows or by columns, and the elements from one to the next of a batch.
struct Strides {
  int64_t row, column, matrix;
};
Strides random_strides(std::mt19937& random, int64_t rows, int64_t columns) {
  const auto room = static_cast<int64_t>(random() % 3);
  if (random() % 2 == 0) return {columns + room, 1, rows * (columns + room)};
  return {1, rows + room, columns * (rows + room)};
}

// A product of a batch of matrices in random orders, with a start that is none, a row, or C itself.
class RandomProduct {
 public:
  explicit RandomProduct(std::mt19937& random)
      : m_(1 + random() % 9),
        n_(1 + random() % 9),
        k_(1 + random() % 9),
        batch_(1 + random() % 3),
        a_strides_(random_strides(random, m_, k_)),
        b_strides_(random_strides(random, k_, n_)),
        c_strides_(random_strides(random, m_, n_)),
        a_(random, batch_ * a_strides_.matrix),
        b_(random, batch_ * b_strides_.matrix),
        c_(random, batch_ * c_strides_.matrix),
        bias_(random, n_) {
    for (const Numbers* numbers : {&a_, &b_, &c_, &bias_}) numbers->set(random);
    product_ = portable::matrix_product(m_, n_, k_, a_.get(), a_strides_.row, a_strides_.column, b_.get(),
                                        b_strides_.row, b_strides_.column, c_.get(), c_strides_.row, c_strides_.column);
    product_.batch[0] = {batch_, a_strides_.matrix, b_strides_.matrix, c_strides_.matrix, 0};
    product_.a_scale.real = static_cast<double>(random() % 3) - 1;
    const auto start = random() % 3;
    if (start == 1) {
      product_.start = bias_.get();
      product_.start_column = 1;
    } else if (start == 2) {
      product_.start = c_.get();
      product_.start_row = c_strides_.row;
      product_.start_column = c_strides_.column;
      product_.batch[0].start = c_strides_.matrix;
      product_.start_scale.real = 2;
    }
    each([&](int64_t at, double sum) {
      static_cast<void>(at);
      expected_.push_back(sum);
    });
  }

  const Product& product() const { return product_; }
  bool is_column_major() const { return n_ > 1 && m_ > 1 && c_strides_.column != 1; }
  bool has_aligned_row() const { return has_row() && reinterpret_cast<uintptr_t>(bias_.get()) % 16 == 0; }
  bool has_row() const { return product_.start == bias_.get(); }
  void expect_right() {
    size_t i = 0;
    each([&](int64_t at, double) { EXPECT_EQ(c_.get()[at], expected_[i++]) << m_ << " x " << k_ << " x " << n_; });
  }

 private:
  // Calls use(place in C, what it becomes) for each element.
  template <typename Use>
  void each(const Use& use) const {
    for (int64_t matrix = 0; matrix < batch_; ++matrix) {
      for (int64_t row = 0; row < m_; ++row) {
        for (int64_t column = 0; column < n_; ++column) {
          double sum = 0;
          for (int64_t k = 0; k < k_; ++k) {
            sum += static_cast<double>(a_.get()[place(a_strides_, matrix, row, k)]) *
                   b_.get()[place(b_strides_, matrix, k, column)];
          }
          const int64_t at = place(c_strides_, matrix, row, column);
          sum *= product_.a_scale.real;
          if (has_row()) sum += bias_.get()[column];
          if (product_.start == c_.get()) sum += product_.start_scale.real * c_.get()[at];
          use(at, sum);
        }
      }
    }
  }
  static int64_t place(const Strides& strides, int64_t matrix, int64_t row, int64_t column) {
    return matrix * strides.matrix + row * strides.row + column * strides.column;
  }

  int64_t m_, n_, k_, batch_;
  Strides a_strides_, b_strides_, c_strides_;
  Numbers a_, b_, c_, bias_;
  Product product_;
  std::vector<double> expected_;
};

class Blas : public ::testing::Test {
 protected:
  void SetUp() override {
    fake::reset(0);
    workbench_ = std::move(*CudaWorkbench::create(0));
    ASSERT_NE(workbench_->blas(), nullptr);
  }
  std::unique_ptr<CudaWorkbench> workbench_;
};

TEST_F(Blas, EveryLayoutGivesTheSameNumbers) {
  std::mt19937 random(7);
  const Stream stream;
  workbench_->blas()->use(stream.get());
  int taken = 0;
  int by_columns = 0;
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    SCOPED_TRACE(::testing::Message() << "product " << i);
    RandomProduct one(random);
    if (!workbench_->blas()->product(one.product())) {
      // The library adds a row that is aligned, and not to results by columns.
      EXPECT_TRUE(one.has_row() && (one.is_column_major() || !one.has_aligned_row()));
      continue;
    }
    stream.wait();
    one.expect_right();
    ++taken;
    by_columns += one.is_column_major() ? 1 : 0;
  }
  EXPECT_GT(taken, 2000);
  EXPECT_GT(by_columns, 700);
}

// What the library does between two launches must not be seen by another stream's.
TEST_F(Blas, StreamsThatShareAWorkspaceTakeTurns) {
  workbench_.reset();
  for (uint32_t seed = 1; seed <= 100 && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    fake::reset(seed);
    std::mt19937 random(seed);
    std::unique_ptr<CudaWorkbench> workbench = std::move(*CudaWorkbench::create(0));
    const Stream streams[2];
    std::vector<std::unique_ptr<RandomProduct>> products;
    for (size_t i = 0; i < 12; ++i) products.push_back(std::make_unique<RandomProduct>(random));
    std::vector<bool> taken;
    for (size_t i = 0; i < products.size(); ++i) {
      std::unique_lock<std::mutex> turn;
      ASSERT_EQ(workbench->enter(streams[i % 2].get(), &turn), Error::kOk);
      taken.push_back(workbench->blas()->product(products[i]->product()));
    }
    for (const Stream& stream : streams) stream.wait();
    for (size_t i = 0; i < products.size(); ++i) {
      if (taken[i]) products[i]->expect_right();
    }
    for (const Stream& stream : streams) workbench->leave_for_good(stream.get());
  }
}

TEST_F(Blas, AProblemIsAskedAboutOnce) {
  std::mt19937 random(3);
  const Stream stream;
  workbench_->blas()->use(stream.get());
  std::vector<std::unique_ptr<RandomProduct>> products;
  for (int i = 0; i < 40; ++i) products.push_back(std::make_unique<RandomProduct>(random));
  for (const auto& one : products) static_cast<void>(workbench_->blas()->product(one->product()));
  const int64_t asked = fake::blas_counts().questions;
  for (const auto& one : products) static_cast<void>(workbench_->blas()->product(one->product()));
  EXPECT_EQ(fake::blas_counts().questions, asked);
  stream.wait();
}

}  // namespace
}  // namespace berth::cuda
