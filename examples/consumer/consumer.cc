// Loads a program file and runs its first method in static memory: the runtime does not use the heap.
//
//     consumer model.pte
//
// Every tensor input is filled with ones of its type; the first elements of each output are printed.

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "kernels/portable/portable.h"
#include "runtime/log.h"
#include "runtime/memory.h"
#include "runtime/program.h"

namespace {

// All memory. On a microcontroller the file would be an array in flash.
alignas(64) uint8_t file_memory[16 << 20];
alignas(64) uint8_t method_memory[1 << 20];
alignas(64) uint8_t arena_memory[64 << 20];
alignas(64) uint8_t temp_memory[8 << 20];
alignas(64) uint8_t caller_memory[8 << 20];  // inputs, and outputs that are not planned

constexpr size_t kMaxArenas = 16;

int fail(const char* what, const berth::Report& report) {
  std::fprintf(stderr, "%s: %s: %s\n", what, report.place, report.message);
  return 1;
}

// Divides arena_memory into the arenas of the method. False when it is too small.
bool make_arenas(const berth::MethodMeta& meta, berth::Span<uint8_t> (&arenas)[kMaxArenas]) {
  berth::MemoryAllocator allocator({arena_memory, sizeof(arena_memory)});
  if (meta.num_memory_planned_buffers() > kMaxArenas) return false;
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const berth::Result<uint64_t> bytes = meta.memory_planned_buffer_size(i);
    if (!bytes.ok() || *bytes > sizeof(arena_memory)) return false;
    void* memory = allocator.allocate(*bytes, meta.memory_planned_buffer_alignment(i));
    if (memory == nullptr) return false;
    arenas[i] = {static_cast<uint8_t*>(memory), static_cast<size_t>(*bytes)};
  }
  return true;
}

void fill_with_ones(berth::DType dtype, void* data, size_t bytes) {
  if (dtype == berth::DType::kF32) {
    std::fill_n(static_cast<float*>(data), bytes / sizeof(float), 1.0f);
  } else if (dtype == berth::DType::kI64) {
    std::fill_n(static_cast<int64_t*>(data), bytes / sizeof(int64_t), int64_t{1});
  } else if (dtype == berth::DType::kI32) {
    std::fill_n(static_cast<int32_t*>(data), bytes / sizeof(int32_t), 1);
  } else {
    std::fill_n(static_cast<uint8_t*>(data), bytes, uint8_t{0});
  }
}

bool set_inputs(berth::Method& method, berth::MemoryAllocator& memory) {
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    const berth::Result<berth::TensorInfo> info = method.meta().input_tensor_meta(i);
    if (!info.ok()) {  // a number that the program was compiled with
      if (method.set_input(i, method.get_input(i)) != berth::Error::kOk) return false;
      continue;
    }
    void* data = memory.allocate(info->nbytes);
    if (data == nullptr) return false;
    fill_with_ones(info->dtype, data, info->nbytes);
    if (method.set_input(i, data, info->sizes, info->dtype) != berth::Error::kOk) return false;
  }
  return true;
}

bool set_outputs(berth::Method& method, berth::MemoryAllocator& memory) {
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const berth::Result<berth::TensorInfo> info = method.meta().output_tensor_meta(i);
    if (!info.ok() || info->is_memory_planned) continue;
    void* data = memory.allocate(info->nbytes);
    if (data == nullptr || method.set_output_data_ptr(i, data, info->nbytes) != berth::Error::kOk) return false;
  }
  return true;
}

void print_output(size_t index, const berth::EValue& value) {
  std::printf("out%zu:", index);
  if (value.is_int()) std::printf(" %" PRId64, value.to_int());
  if (value.is_double()) std::printf(" %g", value.to_double());
  if (value.is_tensor()) {
    const berth::Tensor& tensor = value.tensor();
    std::printf(" %s[", to_string(tensor.dtype()));
    for (int d = 0; d < tensor.rank(); ++d) std::printf(d == 0 ? "%" PRId64 : ",%" PRId64, tensor.size(d));
    std::printf("]");
    for (int64_t i = 0; i < std::min<int64_t>(tensor.numel(), 8); ++i) {
      if (tensor.dtype() == berth::DType::kF32) std::printf(" %g", static_cast<double>(tensor.data<float>()[i]));
      if (tensor.dtype() == berth::DType::kI64) std::printf(" %" PRId64, tensor.data<int64_t>()[i]);
    }
  }
  std::printf("\n");
}

size_t read_file(const char* path) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return 0;
  const size_t size = std::fread(file_memory, 1, sizeof(file_memory), file);
  std::fclose(file);
  return size;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: consumer PROGRAM.pte\n");
    return 2;
  }
  const size_t size = read_file(argv[1]);
  const berth::BufferLoader loader({file_memory, size});

  berth::Report report;
  berth::LoadOptions options;
  options.report = &report;
  const berth::Result<berth::Program> program = berth::Program::load(loader, berth::portable::kernels(), options);
  if (!program.ok()) return fail(argv[1], report);
  if (program->num_methods() == 0) {
    std::fprintf(stderr, "%s: no methods\n", argv[1]);
    return 1;
  }
  const char* name = program->method_name(0);

  berth::Span<uint8_t> arenas[kMaxArenas];
  const berth::Result<berth::MethodMeta> meta = program->method_meta(name);
  if (!meta.ok() || !make_arenas(*meta, arenas)) {
    std::fprintf(stderr, "%s: the arenas do not fit into %zu bytes\n", argv[1], sizeof(arena_memory));
    return 1;
  }
  const berth::HierarchicalAllocator planned({arenas, meta->num_memory_planned_buffers()});
  berth::MemoryAllocator allocator({method_memory, sizeof(method_memory)});
  const berth::MemoryManager memory(allocator, planned, {temp_memory, sizeof(temp_memory)});
  berth::Result<berth::Method> method = program->load_method(name, memory, nullptr, &report);
  if (!method.ok()) return fail(argv[1], report);

  berth::MemoryAllocator caller({caller_memory, sizeof(caller_memory)});
  if (!set_inputs(*method, caller) || !set_outputs(*method, caller)) {
    if (method->last_report().code != berth::Error::kOk) return fail(argv[1], method->last_report());
    std::fprintf(stderr, "%s: inputs and outputs do not fit into %zu bytes\n", argv[1], sizeof(caller_memory));
    return 1;
  }
  if (method->execute() != berth::Error::kOk) return fail(argv[1], method->last_report());
  for (size_t i = 0; i < method->outputs_size(); ++i) print_output(i, method->get_output(i));
  return 0;
}
