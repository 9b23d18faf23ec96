// For tests of this room: kernels that are small enough to be right at a glance, and a program made ready to run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "format/write/test_programs.h"
#include "runtime/program.h"

namespace berth::testing {

inline Error relu(KernelContext&, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  Tensor& out = args[1]->tensor();
  BERTH_RETURN_IF_ERROR(out.resize(self.sizes()));
  for (int64_t i = 0; i < self.numel(); ++i) {
    const float x = self.data<float>()[i];
    out.data<float>()[i] = x > 0 ? x : 0;
  }
  return Error::kOk;
}

/// self + alpha * other, of equal sizes.
inline Error add(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  const Tensor& other = args[1]->tensor();
  Tensor& out = args[3]->tensor();
  if (self.sizes() != other.sizes()) return context.fail(Error::kInvalidArgument, "self and other differ in size");
  BERTH_RETURN_IF_ERROR(out.resize(self.sizes()));
  const float alpha = args[2]->scalar_to<float>();
  for (int64_t i = 0; i < self.numel(); ++i) {
    out.data<float>()[i] = self.data<float>()[i] + alpha * other.data<float>()[i];
  }
  return Error::kOk;
}

/// Every element is the float `value`.
inline Error fill(KernelContext&, Span<EValue* const> args) {
  Tensor& out = args[1]->tensor();
  for (int64_t i = 0; i < out.numel(); ++i) out.data<float>()[i] = static_cast<float>(args[0]->real());
  return Error::kOk;
}

/// Sums the tensors of a list into out.
inline Error sum_list(KernelContext&, Span<EValue* const> args) {
  Tensor& out = args[1]->tensor();
  for (int64_t i = 0; i < out.numel(); ++i) {
    out.data<float>()[i] = 0;
    for (const EValue* item : args[0]->items()) {
      if (!item->is_none()) out.data<float>()[i] += item->tensor().data<float>()[i];
    }
  }
  return Error::kOk;
}

inline Error copy(KernelContext&, Span<EValue* const> args) {
  Tensor& self = args[0]->tensor();
  const Tensor& src = args[1]->tensor();
  if (self.sizes() != src.sizes()) return Error::kInvalidArgument;
  for (int64_t i = 0; i < self.numel(); ++i) self.data<float>()[i] = src.data<float>()[i];
  return Error::kOk;
}

/// Leaves the first output out when it has no memory; needs temporary memory for one element each.
inline Error twice(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  Tensor& values = args[1]->tensor();
  Tensor& negated = args[2]->tensor();
  float* temp = static_cast<float*>(context.allocate_temp(self.nbytes()));
  if (temp == nullptr) return Error::kMemoryAllocationFailed;
  for (int64_t i = 0; i < self.numel(); ++i) temp[i] = 2 * self.data<float>()[i];
  for (int64_t i = 0; i < self.numel(); ++i) values.data<float>()[i] = temp[i];
  for (int64_t i = 0; i < self.numel() && negated.raw() != nullptr; ++i) negated.data<float>()[i] = -temp[i];
  return Error::kOk;
}
inline size_t twice_temp(Span<EValue* const> args, int) { return args[0]->tensor().nbytes(); }

inline KernelTable kernels() {
  static constexpr KernelEntry kTable[] = {
      {"aten::relu.out", "Tensor self -> Tensor out", relu},
      {"aten::add.out", "Tensor self, Tensor other, Scalar alpha=1 -> Tensor out", add},
      {"aten::copy_", "Tensor self, Tensor src, bool non_blocking=False -> Tensor(self)", copy},
      {"test::fill.out", "float value -> Tensor out", fill},
      {"test::sum.out", "Tensor?[] tensors -> Tensor out", sum_list},
      {"test::twice.out", "Tensor self -> Tensor values, Tensor negated", twice, twice_temp, 1},
  };
  return kTable;
}

/// A description, written, loaded and ready; or the error and the report of the step that failed. The memory is exactly
/// what is asked for.
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
