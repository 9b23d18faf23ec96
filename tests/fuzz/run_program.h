// For fuzz targets: takes any bytes as a program file, and loads and runs what passes the checks, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/program.h"

namespace berth::fuzz {

constexpr size_t kMostMemory = 1 << 20;

// From the heap and of exactly this size, so that the address sanitizer sees what is read or written beyond it.
struct Block {
  explicit Block(size_t bytes) : memory(new uint8_t[bytes == 0 ? 1 : bytes]()), size(bytes) {}
  Span<uint8_t> span() { return {memory.get(), size}; }
  std::unique_ptr<uint8_t[]> memory;
  size_t size;
};

inline void run_method(const Program& program, const MethodMeta& meta) {
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<Span<uint8_t>> arenas;
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const Result<uint64_t> bytes = meta.memory_planned_buffer_size(i);
    if (!bytes.ok() || *bytes > kMostMemory || i > 8) return;
    blocks.push_back(std::make_unique<Block>(static_cast<size_t>(*bytes)));
    arenas.push_back(blocks.back()->span());
  }
  Block method_memory(kMostMemory);
  Block temp(kMostMemory);
  MemoryAllocator allocator(method_memory.span());
  const HierarchicalAllocator planned(arenas);
  Result<Method> method = program.load_method(meta.name(), MemoryManager(allocator, planned, temp.span()));
  if (!method.ok()) return;
  for (size_t i = 0; i < method->inputs_size(); ++i) {
    const Result<TensorInfo> info = meta.input_tensor_meta(i);
    if (!info.ok()) {
      method->set_input(i, method->get_input(i));
    } else if (info->nbytes <= kMostMemory) {
      blocks.push_back(std::make_unique<Block>(info->nbytes));
      method->set_input(i, blocks.back()->span().data(), info->sizes, info->dtype);
    }
  }
  for (size_t i = 0; i < method->outputs_size(); ++i) {
    const Result<TensorInfo> info = meta.output_tensor_meta(i);
    if (!info.ok() || info->is_memory_planned || info->nbytes > kMostMemory) continue;
    blocks.push_back(std::make_unique<Block>(info->nbytes));
    method->set_output_data_ptr(i, blocks.back()->span().data(), info->nbytes);
  }
  // Steps, since a loop may run for its whole budget.
  for (int step = 0; step < 1000 && method->step() == Error::kOk; ++step) {
  }
}

/// `data` as a file, its methods run with `kernels`.
inline void run_program(const uint8_t* data, size_t size, KernelTable kernels) {
  // At a multiple of 16, and of exactly this size.
  std::unique_ptr<uint8_t[]> file(new uint8_t[size]);
  if (size > 0) std::memcpy(file.get(), data, size);
  const BufferLoader loader({file.get(), size});
  const Result<Program> program = Program::load(loader, kernels);
  if (!program.ok()) return;
  for (size_t i = 0; i < program->num_methods() && i < 4; ++i) {
    const Result<MethodMeta> meta = program->method_meta(i);
    if (meta.ok()) run_method(*program, *meta);
  }
}

}  // namespace berth::fuzz
