// For tests of runtime/: kernels that are obviously right, and a program that is ready to run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "format/write/programs_testing.h"
#include "runtime/arguments.h"
#include "runtime/program.h"

namespace berth::testing {

inline Error relu(KernelContext&, const Tensor& self, Tensor& out) {
  BERTH_RETURN_IF_ERROR(out.resize(self.sizes()));
  for (int64_t i = 0; i < self.numel(); ++i) {
    const float x = self.data<float>()[i];
    out.data<float>()[i] = x > 0 ? x : 0;
  }
  return Error::kOk;
}

/// self + alpha * other, of equal sizes.
inline Error add(KernelContext& context, const Tensor& self, const Tensor& other, const EValue& alpha, Tensor& out) {
  if (self.sizes() != other.sizes()) return context.fail(Error::kInvalidArgument, "self and other differ in size");
  BERTH_RETURN_IF_ERROR(out.resize(self.sizes()));
  const float factor = alpha.scalar_to<float>();
  for (int64_t i = 0; i < self.numel(); ++i) {
    out.data<float>()[i] = self.data<float>()[i] + factor * other.data<float>()[i];
  }
  return Error::kOk;
}

/// Sets every element to the float `value`.
inline Error fill(KernelContext&, double value, Tensor& out) {
  for (int64_t i = 0; i < out.numel(); ++i) out.data<float>()[i] = static_cast<float>(value);
  return Error::kOk;
}

/// Sums the tensors of a list into out.
inline Error sum_list(KernelContext&, OptionalTensorList tensors, Tensor& out) {
  for (int64_t i = 0; i < out.numel(); ++i) {
    out.data<float>()[i] = 0;
    for (const Tensor* tensor : tensors) {
      if (tensor != nullptr) out.data<float>()[i] += tensor->data<float>()[i];
    }
  }
  return Error::kOk;
}

inline Error copy(KernelContext&, Tensor& self, const Tensor& src, bool) {
  if (self.sizes() != src.sizes()) return Error::kInvalidArgument;
  for (int64_t i = 0; i < self.numel(); ++i) self.data<float>()[i] = src.data<float>()[i];
  return Error::kOk;
}

struct TwiceArguments : Arguments {
  using Arguments::Arguments;
  const Tensor& self = next<const Tensor&>();
  Tensor& values = next<Tensor&>();
  Tensor& negated = next<Tensor&>();
};
/// Leaves the second output out when it has no memory; needs temporary memory for one element each.
inline Error twice(KernelContext& context, const TwiceArguments& args) {
  const Tensor& self = args.self;
  Tensor& values = args.values;
  Tensor& negated = args.negated;
  float* temp = static_cast<float*>(context.allocate_temp(self.nbytes()));
  if (temp == nullptr) return Error::kMemoryAllocationFailed;
  for (int64_t i = 0; i < self.numel(); ++i) temp[i] = 2 * self.data<float>()[i];
  for (int64_t i = 0; i < self.numel(); ++i) values.data<float>()[i] = temp[i];
  for (int64_t i = 0; i < self.numel() && negated.raw() != nullptr; ++i) negated.data<float>()[i] = -temp[i];
  return Error::kOk;
}
inline size_t twice_temp(const TwiceArguments& args, int) { return args.self.nbytes(); }

inline KernelTable kernels() {
  static constexpr KernelEntry kTable[] = {
      {"aten::relu.out", "Tensor self -> Tensor out", untyped<relu>},
      {"aten::add.out", "Tensor self, Tensor other, Scalar alpha=1 -> Tensor out", untyped<add>},
      {"aten::copy_", "Tensor self, Tensor src, bool non_blocking=False -> Tensor(self)", untyped<copy>},
      {"test::fill.out", "float value -> Tensor out", untyped<fill>},
      {"test::sum.out", "Tensor?[] tensors -> Tensor out", untyped<sum_list>},
      {"test::twice.out", "Tensor self -> Tensor values, Tensor negated", untyped<twice>, untyped<twice_temp>, 1},
  };
  return kTable;
}

/// A program that was written and loaded, or the error and the report of the step that failed. Its memory is exactly as
/// large as required.
struct Ready {
  std::vector<uint8_t> file;
  std::unique_ptr<BufferLoader> loader;
  std::unique_ptr<Program> program;
  std::vector<std::vector<uint8_t>> arenas;
  std::vector<Span<uint8_t>> spans;
  std::vector<uint8_t> method_memory;
  std::vector<uint8_t> temp;
  std::unique_ptr<Method> method;
  Error error = Error::kOk;
  Report report;
};

inline Ready ready(const format::ProgramDesc& desc, Verification verification = Verification::kFull,
                   const char* name = "forward", ThreadPool* pool = nullptr, KernelTable table = kernels()) {
  Ready r;
  r.file = format::testing::bytes_of(desc);
  r.loader = std::make_unique<BufferLoader>(Span<const uint8_t>(r.file));
  LoadOptions options;
  options.verification = verification;
  options.report = &r.report;
  Result<Program> program = Program::load(*r.loader, table, options);
  if (!program.ok()) {
    r.error = program.error();
    return r;
  }
  r.program = std::make_unique<Program>(std::move(*program));
  const MethodMeta meta = r.program->method_meta(name).value();
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    r.arenas.emplace_back(meta.memory_planned_buffer_size(i).value());
    r.spans.emplace_back(r.arenas.back());
  }
  Result<MemoryNeeded> least = r.program->memory_needed(name, {}, 1, &r.report);
  if (!least.ok()) {
    r.error = least.error();
    return r;
  }
  r.method_memory.resize(least->method_bytes);
  Result<MemoryNeeded> needed = r.program->memory_needed(name, r.method_memory, 1, &r.report);
  if (!needed.ok()) {
    r.error = needed.error();
    return r;
  }
  r.temp.resize(needed->temp_bytes + 64);
  MemoryAllocator allocator(r.method_memory);
  const HierarchicalAllocator planned(r.spans);
  Result<Method> method = r.program->load_method(name, MemoryManager(allocator, planned, r.temp), pool, &r.report);
  if (!method.ok()) {
    r.error = method.error();
    return r;
  }
  r.method = std::make_unique<Method>(std::move(*method));
  return r;
}

inline std::vector<float> floats(const EValue& value) {
  const Tensor& tensor = value.tensor();
  return std::vector<float>(tensor.data<float>(), tensor.data<float>() + tensor.numel());
}

inline Error set_floats(Method& method, size_t index, const std::vector<float>& data,
                        const std::vector<int32_t>& sizes) {
  return method.set_input(index, data.data(), sizes, DType::kF32);
}

}  // namespace berth::testing
