// For tests of nested programs: a backend on the host with the runtime's test kernels, constants in memory that count
// their users, tensors with memory, and a delegate with its call.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/nested/nested_backend.h"
#include "backends/nested/nested_programs_testing.h"
#include "runtime/kernels_testing.h"
#include "runtime/observer.h"

namespace berth::testing {

/// The number of threads of the last call of test::threads.
inline int threads_seen = 0;

inline Error count_threads(KernelContext& context, Span<EValue* const>) {
  threads_seen = context.threads();
  return Error::kOk;
}

/// Writes its first argument to every tensor of the list.
inline Error write_all(KernelContext&, Span<EValue* const> args) {
  for (const EValue* item : args[1]->items()) {
    std::memcpy(item->tensor().raw(), args[0]->tensor().raw(), args[0]->tensor().nbytes());
  }
  return Error::kOk;
}

/// The floats of the first tensor as bytes, from the front; the code is not looked at.
inline Error to_bytes(KernelContext&, Span<EValue* const> args) {
  const Tensor& from = args[0]->items()[0]->tensor();
  Tensor& to = args[3]->tensor();
  for (int64_t i = 0; i < from.numel(); ++i) to.data<int8_t>()[i] = static_cast<int8_t>(from.data<float>()[i]);
  return Error::kOk;
}

/// The runtime's test kernels, test::threads.out, test::write_all.out, and berth::elementwise.out of floats to bytes.
inline Span<const KernelTable> test_tables() {
  static constexpr KernelEntry kMore[] = {
      {"test::threads.out", "Tensor self -> Tensor out", count_threads},
      {"test::write_all.out", "Tensor self -> Tensor[] out", write_all},
      {"berth::elementwise.out", "Tensor[] inputs, int[] code, float[] constants -> Tensor out", to_bytes},
  };
  static const KernelTable kTables[] = {kernels(), kMore};
  return kTables;
}

/// Runs on the host with test_tables(). Counts sessions and runs, and fails on request.
class HostBackend : public NestedBackend {
 public:
  explicit HostBackend(bool host_kernels = true)
      : NestedBackend("test.host", test_tables()), host_kernels_(host_kernels) {}
  bool serves(DeviceType type) const override { return type == DeviceType::kCpu; }
  bool host_kernels() const override { return host_kernels_; }

  int opened = 0;
  int closed = 0;
  int begun = 0;
  int ended = 0;
  size_t blobs_at_close = 0;
  Error open_error = Error::kOk;
  Error begin_error = Error::kOk;

 protected:
  Result<void*> open(const DelegateSource&, const DelegateLoad&, format::Report* report) override {
    if (open_error != Error::kOk) return format::fail(report, open_error, "session", "no session");
    ++opened;
    return static_cast<void*>(this);
  }
  void close(void* session) override {
    EXPECT_EQ(session, this);
    EXPECT_EQ(constants().blobs(), blobs_at_close) << "the method, which may use the session, goes first";
    ++closed;
  }
  Error begin(void*, KernelContext&) override {
    ++begun;
    return begin_error;
  }
  Error end(void*, KernelContext&, Error result) override {
    ++ended;
    return result;
  }

 private:
  bool host_kernels_;
};

/// Blobs in memory; counts buffers that are not freed.
class Blobs final : public NamedDataMap {
 public:
  Result<FreeableBuffer> get(const char* key) const override {
    const auto found = blobs.find(key);
    if (found == blobs.end()) return Error::kNotFound;
    ++held;
    return FreeableBuffer(
        found->second.data(), found->second.size(),
        [](void* of, const void*, size_t) { --static_cast<const Blobs*>(of)->held; }, const_cast<Blobs*>(this));
  }

  std::map<std::string, std::vector<uint8_t>> blobs = {{kWeightKey, weight_bytes(4)}};
  mutable int held = 0;
};

/// A tensor of the call with 4 KiB of memory.
class Argument {
 public:
  Argument(DType dtype, std::vector<int32_t> sizes, bool bounded = false)
      : sizes_(std::move(sizes)), strides_(sizes_.size()), memory_(std::make_unique<Memory>()) {
    for (size_t i = 0; i < sizes_.size(); ++i) order_.push_back(static_cast<uint8_t>(i));
    tensor = Tensor(dtype, static_cast<int>(sizes_.size()), sizes_.data(), order_.data(), strides_.data(),
                    memory_->bytes, bounded ? ShapeDynamism::kBounded : ShapeDynamism::kStatic);
    value = EValue(&tensor);
  }
  Argument(DType dtype, std::vector<int32_t> sizes, std::vector<uint8_t> order) : Argument(dtype, std::move(sizes)) {
    order_ = std::move(order);
    tensor = Tensor(dtype, static_cast<int>(sizes_.size()), sizes_.data(), order_.data(), strides_.data(),
                    memory_->bytes, ShapeDynamism::kStatic);
  }
  Argument(const Argument&) = delete;
  Argument& operator=(const Argument&) = delete;
  float* floats() { return reinterpret_cast<float*>(memory_->bytes); }

  Tensor tensor;
  EValue value;

 private:
  struct Memory {
    alignas(64) uint8_t bytes[4096] = {};
  };
  std::vector<int32_t> sizes_;
  std::vector<int64_t> strides_;
  std::vector<uint8_t> order_;
  std::unique_ptr<Memory> memory_;
};

/// A delegate and its call: by default x and y of four floats, and the scratch of nested_add_relu(). Checks at the end
/// of a test that every blob was freed and every session closed.
class NestedTest : public ::testing::Test {
 protected:
  /// The memory that `program` needs, in needed_.
  Error measure(const format::ProgramDesc& program) {
    payload_ = version_ == 0 ? payload_of(program) : payload_of(program, version_);
    source_.payload = payload_;
    source_.named_data = &blobs_;
    report_ = format::Report();
    // Twice: with enough memory, temp_bytes is computed too.
    Error error = backend_->memory_needed(source_, {}, 1, &needed_, &report_);
    if (error != Error::kOk) return error;
    room_.assign(needed_.method_bytes + 16, 0);
    return backend_->memory_needed(source_, aligned(needed_.method_bytes), 1, &needed_, &report_);
  }

  /// Loads into as much memory as measure() computed, less `less` bytes.
  /// REQUIRES: measure() succeeded.
  Error load(size_t less = 0) {
    room_.assign(needed_.method_bytes + 16, 0);
    temp_.assign(needed_.temp_bytes + 64, 0);
    memory_.emplace(aligned(needed_.method_bytes - less));
    DelegateLoad load;
    load.memory = &*memory_;
    load.pool = pool_;
    load.temp = temp();
    load.args = args_;
    Result<DelegateHandle*> handle = backend_->load(source_, load, &report_);
    if (!handle.ok()) return handle.error();
    handle_ = *handle;
    return Error::kOk;
  }
  Error load(const format::ProgramDesc& program) {
    const Error error = measure(program);
    return error == Error::kOk ? load() : error;
  }

  Error execute() {
    KernelContext context(temp(), pool_, {}, nullptr, observer_);
    const Error error = backend_->execute(handle_, context, args_);
    message_ = context.message() == nullptr ? "" : context.message();
    return error;
  }

  void unload() {
    if (handle_ != nullptr) backend_->unload(handle_);
    handle_ = nullptr;
  }

  void TearDown() override {
    unload();
    EXPECT_EQ(blobs_.held, 0) << "a blob was not given back";
    EXPECT_EQ(backend_->constants().blobs(), 0u);
    EXPECT_EQ(backend_->opened, backend_->closed);
  }

  Span<uint8_t> aligned(size_t bytes) {
    const size_t padding = -reinterpret_cast<uintptr_t>(room_.data()) & 15;
    return {room_.data() + padding, bytes};
  }
  Span<uint8_t> temp() {
    const size_t padding = -reinterpret_cast<uintptr_t>(temp_.data()) & 63;
    return {temp_.data() + padding, temp_.size() - padding};
  }

  std::unique_ptr<HostBackend> backend_ = std::make_unique<HostBackend>();
  Blobs blobs_;
  Argument x_{DType::kF32, {4}};
  Argument y_{DType::kF32, {4}};
  Argument scratch_{DType::kU8, {16}};
  std::vector<EValue*> args_ = {&x_.value, &y_.value, &scratch_.value};
  DelegateSource source_;
  DelegateMemory needed_;
  format::Report report_;
  std::string message_;
  uint32_t version_ = 0;  // of the payload; 0: the lowest possible
  std::vector<uint8_t> payload_, room_, temp_;
  std::optional<MemoryAllocator> memory_;
  DelegateHandle* handle_ = nullptr;
  ThreadPool* pool_ = nullptr;
  InstructionObserver* observer_ = nullptr;
};

inline void set(Argument& argument, std::initializer_list<float> values) {
  std::copy(values.begin(), values.end(), argument.floats());
}
inline std::vector<float> get(Argument& argument) {
  return std::vector<float>(argument.floats(), argument.floats() + argument.tensor.numel());
}

}  // namespace berth::testing
