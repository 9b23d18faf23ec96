// For tests of this room: a kernel with its `prepare`, made ready and called as a Method does. Not part of any library.
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/conv.h"
#include "kernels/portable/kernel_testing.h"

namespace berth::testing {

struct PreparedKernel {
  KernelFunction call;
  TempBytesFunction temp_bytes;
  PrepareFunction prepare;
  ReleaseFunction release;
};

inline constexpr PreparedKernel kConv = {untyped<cpu::conv_out>, untyped<cpu::conv_temp_bytes>,
                                         untyped<cpu::conv_prepare>, cpu::conv_release};
inline constexpr PreparedKernel kLinear = {untyped<cpu::linear_out>, untyped<cpu::linear_temp_bytes>,
                                           untyped<cpu::linear_prepare>, cpu::conv_release};

/// Tensors among the arguments are constants where `constant` says so; without it, the second argument alone.
class Prepared {
 public:
  Prepared(const PreparedKernel& kernel, std::vector<Arg> args, int threads = 1, std::vector<size_t> constants = {1})
      : kernel_(kernel), args_(std::move(args)), pool_(threads), threads_(threads) {
    for (Arg& arg : args_) values_.push_back(arg.value());
    std::vector<uint8_t> constant(args_.size(), 0);
    for (const size_t i : constants) constant[i] = 1;
    PrepareContext context(threads > 1 ? &pool_ : nullptr, nullptr,
                           {reinterpret_cast<const bool*>(constant.data()), constant.size()});
    const size_t temp = kernel_.temp_bytes(span(), threads);
    // What a kernel reads before it writes it is not a number.
    memory_.assign(temp + 64, 0xff);
    temp_ = {memory_.data() + (64 - reinterpret_cast<uintptr_t>(memory_.data()) % 64) % 64, temp};
    error_ = kernel_.prepare(context, span(), &state_);
    if (context.message() != nullptr) message_ = context.message();
  }
  ~Prepared() {
    if (state_ != nullptr) kernel_.release(state_);
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  /// What preparing gave.
  Error error() const { return error_; }
  const void* state() const { return state_; }
  const std::string& message() const { return message_; }

  Error run() {
    KernelContext context(temp_, threads_ > 1 ? &pool_ : nullptr);
    context.set_state(state_);
    const Error error = kernel_.call(context, span());
    if (context.message() != nullptr) message_ = context.message();
    return error;
  }

 private:
  Span<EValue* const> span() const { return {values_.data(), values_.size()}; }

  PreparedKernel kernel_;
  std::vector<Arg> args_;
  std::vector<EValue*> values_;
  TestPool pool_;
  int threads_;
  std::vector<uint8_t> memory_;
  Span<uint8_t> temp_;
  void* state_ = nullptr;
  Error error_ = Error::kOk;
  std::string message_;
};

}  // namespace berth::testing
