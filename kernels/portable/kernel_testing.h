// For the kernels' tests: tensors and arguments by value, and a kernel called in a line.
//
//   Array x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
//   Array y = f32({2, 3});
//   ASSERT_EQ(run(relu_out, {x, y}), Error::kOk);
//   EXPECT_EQ(y.values(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
//
// Not part of any library.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "kernels/portable/convert.h"
#include "kernels/portable/portable.h"

namespace berth::testing {

using Values = std::vector<double>;
using Ints = std::vector<int64_t>;
using Shape = std::vector<int32_t>;
using Order = std::vector<uint8_t>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// How many units in the last place a function may be away from its exact value, where the same tests run on a device
/// whose manual allows some (BERTH_TEST_ULPS); 0 on the host.
inline double tolerated_ulps() {
  const char* text = std::getenv("BERTH_TEST_ULPS");
  return text == nullptr ? 0 : std::atof(text);
}

/// A tensor that owns its elements. Copies share them.
class Array {
 public:
  /// Elements are given, and come back from values(), in row-major order of the logical dimensions, whatever the
  /// dimension order in memory. Without values the tensor is filled with bytes 0xCD, so that what is not written shows.
  Array(DType dtype, std::vector<int32_t> sizes, std::vector<double> values = {}, std::vector<uint8_t> dim_order = {},
        ShapeDynamism dynamism = ShapeDynamism::kStatic)
      : state_(std::make_shared<State>()) {
    State& s = *state_;
    s.sizes = std::move(sizes);
    s.dim_order = std::move(dim_order);
    if (s.dim_order.empty()) {
      s.dim_order.resize(s.sizes.size());
      std::iota(s.dim_order.begin(), s.dim_order.end(), uint8_t{0});
    }
    s.strides.resize(s.sizes.size());
    s.tensor = Tensor(dtype, static_cast<int>(s.sizes.size()), s.sizes.data(), s.dim_order.data(), s.strides.data(),
                      nullptr, dynamism);
    s.bytes.assign(s.tensor.nbytes() + 64, 0xCD);
    s.tensor.set_data(s.bytes.data());
    set(values);
  }

  Tensor& tensor() const { return state_->tensor; }
  operator Tensor&() const { return state_->tensor; }

  void set(const std::vector<double>& values) const {
    for (size_t i = 0; i < values.size(); ++i) set_one(place(static_cast<int64_t>(i)), values[i]);
  }
  std::vector<double> values() const {
    std::vector<double> result(tensor().numel());
    for (size_t i = 0; i < result.size(); ++i) result[i] = get_one(place(static_cast<int64_t>(i)));
    return result;
  }
  std::vector<int32_t> sizes() const { return {tensor().sizes().begin(), tensor().sizes().end()}; }
  /// The 64-bit integers themselves, where double is too narrow.
  std::vector<int64_t> integers() const {
    std::vector<int64_t> result(tensor().numel());
    for (size_t i = 0; i < result.size(); ++i) {
      portable::convert_elements(tensor().dtype(), at(place(static_cast<int64_t>(i))), DType::kI64, &result[i], 1);
    }
    return result;
  }
  void set_integers(const std::vector<int64_t>& values) const {
    for (size_t i = 0; i < values.size(); ++i) {
      portable::convert_elements(DType::kI64, &values[i], tensor().dtype(), at(place(static_cast<int64_t>(i))), 1);
    }
  }
  /// Whether the 64 bytes behind the elements are as they were.
  bool intact() const {
    for (size_t i = tensor().nbytes(); i < state_->bytes.size(); ++i) {
      if (state_->bytes[i] != 0xCD) return false;
    }
    return true;
  }

 private:
  struct State {
    std::vector<int32_t> sizes;
    std::vector<uint8_t> dim_order;
    std::vector<int64_t> strides;
    std::vector<uint8_t> bytes;
    Tensor tensor;
  };

  int64_t place(int64_t index) const {
    int64_t offset = 0;
    for (int d = tensor().rank() - 1; d >= 0; --d) {
      offset += index % tensor().size(d) * tensor().stride(d);
      index /= tensor().size(d);
    }
    return offset;
  }
  uint8_t* at(int64_t element) const { return tensor().data<uint8_t>() + element * element_size(tensor().dtype()); }
  void set_one(int64_t element, double x) const {
    if (is_floating(tensor().dtype()) || is_narrow_float(tensor().dtype())) {
      portable::convert_elements(DType::kF64, &x, tensor().dtype(), at(element), 1);
    } else {
      const auto whole = static_cast<int64_t>(x);
      portable::convert_elements(DType::kI64, &whole, tensor().dtype(), at(element), 1);
    }
  }
  double get_one(int64_t element) const {
    double x = 0;
    portable::convert_elements(tensor().dtype(), at(element), DType::kF64, &x, 1);
    return x;
  }

  std::shared_ptr<State> state_;
};

inline Array f32(std::vector<int32_t> sizes, std::vector<double> values = {}) {
  return Array(DType::kF32, std::move(sizes), std::move(values));
}
inline Array i64(std::vector<int32_t> sizes, std::vector<double> values = {}) {
  return Array(DType::kI64, std::move(sizes), std::move(values));
}
inline Array i32(std::vector<int32_t> sizes, std::vector<double> values = {}) {
  return Array(DType::kI32, std::move(sizes), std::move(values));
}
inline Array boolean(std::vector<int32_t> sizes, std::vector<double> values = {}) {
  return Array(DType::kBool, std::move(sizes), std::move(values));
}

/// One argument of a kernel: an Array, a number, a bool, a text, None (nullptr), integers, floats, or Arrays.
class Arg {
 public:
  Arg(const Array& array) : arrays_{array}, value_(&arrays_[0].tensor()) {}
  Arg(double x) : value_(x) {}
  Arg(int x) : value_(int64_t{x}) {}
  Arg(int64_t x) : value_(x) {}
  Arg(bool x) : value_(x) {}
  Arg(std::nullptr_t) {}
  Arg(const char* text) : text_(text), kind_(kText) {}
  Arg(std::vector<int64_t> integers) : kind_(kList) {
    for (const int64_t x : integers) items_.push_back(std::make_shared<EValue>(x));
  }
  Arg(std::vector<double> reals) : reals_(std::move(reals)), kind_(kReals) {}
  /// A tensor list.
  static Arg list(const std::vector<Arg>& items) {
    Arg arg(nullptr);
    arg.kind_ = kTensors;
    for (const Arg& item : items) {
      arg.arrays_.insert(arg.arrays_.end(), item.arrays_.begin(), item.arrays_.end());
      arg.items_.push_back(std::make_shared<EValue>(item.value_));
    }
    return arg;
  }

  /// A list of three truths, as output masks are.
  static Arg truths(bool a, bool b, bool c) {
    Arg arg(nullptr);
    arg.kind_ = kTruths;
    arg.truths_ = {a, b, c};
    return arg;
  }

  /// Valid while this Arg lives where it is.
  EValue* value() {
    pointers_.clear();
    for (const auto& item : items_) pointers_.push_back(item.get());
    const Span<EValue* const> span(pointers_.data(), pointers_.size());
    if (kind_ == kList) value_ = EValue::int_list(span);
    if (kind_ == kTensors) value_ = EValue::tensor_list(span);
    if (kind_ == kText) value_ = EValue(StringRef{text_.data(), text_.size()});
    if (kind_ == kTruths) value_ = EValue(Span<const bool>(truths_.data(), truths_.size()));
    if (kind_ == kReals) value_ = EValue(Span<const double>(reals_.data(), reals_.size()));
    return &value_;
  }

 private:
  enum Kind { kPlain, kText, kList, kReals, kTruths, kTensors };

  std::vector<Array> arrays_;
  std::string text_;
  std::vector<double> reals_;
  std::array<bool, 3> truths_ = {};
  std::vector<std::shared_ptr<EValue>> items_;
  std::vector<EValue*> pointers_;
  EValue value_;
  Kind kind_ = kPlain;
};

/// Splits work over real threads, and into small pieces, so that what depends on the order of the pieces shows.
class TestPool : public ThreadPool {
 public:
  explicit TestPool(int threads) : threads_(threads) {}
  int size() const override { return threads_; }
  void run(int64_t count, int64_t grain, ParallelBody body) override {
    int64_t share = (count + threads_ - 1) / threads_;
    if (share < grain) share = grain;
    std::vector<std::thread> threads;
    for (int64_t begin = 0; begin < count; begin += share) {
      const int64_t end = begin + share < count ? begin + share : count;
      threads.emplace_back([=] { body.call(body.context, begin, end); });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  int threads_;
};

struct Outcome {
  Error error = Error::kOk;
  std::string message;
};

/// A kernel on typed arguments, or a KernelFunction, to be called with values.
class Kernel {
 public:
  Kernel(KernelFunction function) : function_(reinterpret_cast<Erased>(function)), call_(call_function) {}
  template <typename A>
  Kernel(Error (*function)(KernelContext&, const A&)) : function_(reinterpret_cast<Erased>(function)) {
    call_ = [](Erased erased, KernelContext& context, Span<EValue* const> values) {
      return reinterpret_cast<Error (*)(KernelContext&, const A&)>(erased)(context, A(values));
    };
  }

  Error operator()(KernelContext& context, Span<EValue* const> values) const {
    return call_(function_, context, values);
  }

 private:
  using Erased = void (*)();

  static Error call_function(Erased erased, KernelContext& context, Span<EValue* const> values) {
    return reinterpret_cast<KernelFunction>(erased)(context, values);
  }

  Erased function_;
  Error (*call_)(Erased, KernelContext&, Span<EValue* const>);
};

/// Calls `kernel` with `args`, on `threads` threads, with `temp_bytes` of temporary memory. Error::kInternal
/// where it writes behind them.
inline Outcome run_with(Kernel kernel, std::vector<Arg> args, int threads, size_t temp_bytes = 0,
                        const MemoryFetcher* fetcher = nullptr) {
  std::vector<EValue*> values;
  for (Arg& arg : args) values.push_back(arg.value());
  constexpr size_t kBehind = 64 * 1024;
  constexpr uint8_t kUntouched = 0xCD;
  std::vector<uint8_t> memory(temp_bytes + 64 + kBehind, kUntouched);
  const size_t skip = (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  TestPool pool(threads);
  KernelContext context(Span<uint8_t>(memory.data() + skip, temp_bytes), threads > 1 ? &pool : nullptr, {}, nullptr,
                        nullptr, fetcher);
  Outcome outcome;
  outcome.error = kernel(context, Span<EValue* const>(values.data(), values.size()));
  if (context.message() != nullptr) outcome.message = context.message();
  const auto behind = memory.begin() + static_cast<std::ptrdiff_t>(skip + temp_bytes);
  if (!std::all_of(behind, memory.end(), [](uint8_t byte) { return byte == kUntouched; })) {
    outcome = {Error::kInternal, "written behind temporary memory of " + std::to_string(temp_bytes) + " bytes"};
  }
  return outcome;
}

inline Error run(Kernel kernel, std::vector<Arg> args, size_t temp_bytes = 0) {
  return run_with(kernel, std::move(args), 1, temp_bytes).error;
}

}  // namespace berth::testing
