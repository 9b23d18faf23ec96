// Reads any bytes as a program file; what passes the checks is loaded and run in bounded memory with the portable
// kernels. The fear: a program that verifies and still makes a kernel read or write where it must not.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/portable/portable.h"
#include "runtime/program.h"

namespace {

constexpr size_t kMostMemory = 1 << 20;

// From the heap and of exactly this size, so that the address sanitizer sees what is read or written beyond it.
struct Block {
  explicit Block(size_t bytes) : memory(new uint8_t[bytes == 0 ? 1 : bytes]()), size(bytes) {}
  berth::Span<uint8_t> span() { return {memory.get(), size}; }
  std::unique_ptr<uint8_t[]> memory;
  size_t size;
};

void run(const berth::Program& program, const berth::MethodMeta& meta) {
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<berth::Span<uint8_t>> arenas;
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const berth::Result<uint64_t> bytes = meta.memory_planned_buffer_size(i);
    if (!bytes.ok() || *bytes > kMostMemory || i > 8) return;
    blocks.push_back(std::make_unique<Block>(static_cast<size_t>(*bytes)));
    arenas.push_back(blocks.back()->span());
  }
  Block method_memory(kMostMemory);
  Block temp(kMostMemory);
  berth::MemoryAllocator allocator(method_memory.span());
  const berth::HierarchicalAllocator planned(arenas);
  berth::Result<berth::Method> method =
      program.load_method(meta.name(), berth::MemoryManager(allocator, planned, temp.span()));
  if (!method.ok()) return;
  for (size_t i = 0; i < method->inputs_size(); ++i) {
    const berth::Result<berth::TensorInfo> info = meta.input_tensor_meta(i);
    if (!info.ok()) {
      method->set_input(i, method->get_input(i));
    } else if (info->nbytes <= kMostMemory) {
      blocks.push_back(std::make_unique<Block>(info->nbytes));
      method->set_input(i, blocks.back()->span().data(), info->sizes, info->dtype);
    }
  }
  for (size_t i = 0; i < method->outputs_size(); ++i) {
    const berth::Result<berth::TensorInfo> info = meta.output_tensor_meta(i);
    if (!info.ok() || info->is_memory_planned || info->nbytes > kMostMemory) continue;
    blocks.push_back(std::make_unique<Block>(info->nbytes));
    method->set_output_data_ptr(i, blocks.back()->span().data(), info->nbytes);
  }
  // Steps, since a loop may run for its whole budget.
  for (int step = 0; step < 1000 && method->step() == berth::Error::kOk; ++step) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // At a multiple of 16, and of exactly this size.
  std::unique_ptr<uint8_t[]> file(new uint8_t[size]);
  if (size > 0) std::memcpy(file.get(), data, size);
  const berth::BufferLoader loader({file.get(), size});
  const berth::Result<berth::Program> program = berth::Program::load(loader, berth::portable::kernels());
  if (!program.ok()) return 0;
  for (size_t i = 0; i < program->num_methods() && i < 4; ++i) {
    const berth::Result<berth::MethodMeta> meta = program->method_meta(i);
    if (meta.ok()) run(*program, *meta);
  }
  return 0;
}
