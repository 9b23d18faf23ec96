// Takes any bytes as the payload of a delegate, and loads and runs what passes the checks, on a simulated device whose
// memory faults for code that must not access it. The fear: a nested program that reaches outside of the memory that
// its call was given.
//
// The bytes are a payload, or, without its header, the program file in one, whose results may be scratch. The call is
// what the nested program says of itself, so that as much as possible fits; every fourth input gets one argument wrong.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "backends/sim/sim_backend.h"
#include "format/nested.h"
#include "format/program_view.h"
#include "tests/fuzz/run_program.h"

namespace berth::fuzz {
namespace {

const Device kDevice(DeviceType::kSim, 0);

// Any key has a blob, so that constants are read, and one that is too short for the large ones.
class AnyBlob final : public NamedDataMap {
 public:
  Result<FreeableBuffer> get(const char*) const override { return FreeableBuffer(bytes_, sizeof(bytes_)); }

 private:
  alignas(64) uint8_t bytes_[4096] = {1, 2, 3, 0, 0x3f, 0x80};
};

// Device memory, and the tensors of a call in it.
class Call {
 public:
  explicit Call(SimAllocator& sim) : sim_(sim) {}
  ~Call() {
    for (void* memory : memory_) sim_.deallocate(memory, 0);
  }

  bool add(const TensorInfo& info) {
    if (info.nbytes > kMostMemory || memory_.size() >= 64) return false;
    const Result<void*> memory = sim_.allocate(info.nbytes, 0, 64);
    if (!memory.ok()) return false;
    memory_.push_back(*memory);
    auto shape = std::make_unique<Shape>();
    shape->sizes.assign(info.sizes.begin(), info.sizes.end());
    shape->order.assign(info.dim_order.begin(), info.dim_order.end());
    shape->strides.resize(shape->sizes.size());
    shape->tensor = Tensor(info.dtype, static_cast<int>(shape->sizes.size()), shape->sizes.data(), shape->order.data(),
                           shape->strides.data(), *memory, info.dynamism, kDevice);
    shape->value = EValue(&shape->tensor);
    args.push_back(&shape->value);
    shapes_.push_back(std::move(shape));
    return true;
  }

  std::vector<EValue*> args;

 private:
  struct Shape {
    std::vector<int32_t> sizes;
    std::vector<uint8_t> order;
    std::vector<int64_t> strides;
    Tensor tensor;
    EValue value;
  };
  SimAllocator& sim_;
  std::vector<void*> memory_;
  std::vector<std::unique_ptr<Shape>> shapes_;
};

bool make_call(const MethodMeta& meta, size_t size, Call* call) {
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const Result<TensorInfo> info = meta.input_tensor_meta(i);
    if (info.ok() && !call->add(*info)) return false;
  }
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const Result<TensorInfo> info = meta.output_tensor_meta(i);
    if (info.ok() && !call->add(*info)) return false;
  }
  const Result<uint64_t> scratch = meta.memory_planned_buffer_size(0);
  if (scratch.ok() && *scratch > kMostMemory) return false;
  const int32_t bytes = scratch.ok() ? static_cast<int32_t>(*scratch) : 0;
  const uint8_t order = 0;
  TensorInfo info;
  info.sizes = {&bytes, 1};
  info.dim_order = {&order, 1};
  info.dtype = DType::kU8;
  info.nbytes = static_cast<size_t>(bytes);
  if (bytes > 0 && !call->add(info)) return false;
  if (size % 4 == 3 && !call->args.empty()) call->args[size % call->args.size()] = call->args[0];
  return true;
}

// A loop may run for its whole budget.
bool has_jumps(const Program& program) {
  const fb::ExecutionPlan& plan = program.view().method(0);
  for (flatbuffers::uoffset_t c = 0; c < format::length(plan.chains()); ++c) {
    const auto* instructions = plan.chains()->Get(c)->instructions();
    for (flatbuffers::uoffset_t i = 0; i < format::length(instructions); ++i) {
      if (instructions->Get(i)->instr_args_type() == fb::InstructionArguments::JumpFalseCall) return true;
    }
  }
  return false;
}

void run_payload(Span<const uint8_t> payload) {
  SimAllocator sim({1, uint64_t{1} << 26, true});
  SimBackend backend(&sim);
  DeviceAllocatorRegistry registry;
  registry.register_allocator(&sim);
  const AnyBlob blobs;
  DelegateSource source;
  source.payload = payload;
  source.device = kDevice;
  source.named_data = &blobs;
  source.registry = &registry;
  DelegateMemory needed;
  Report report;
  if (backend.memory_needed(source, {}, 1, &needed, &report) != Error::kOk) return;
  if (needed.method_bytes > 16 * kMostMemory) return;
  Block room(needed.method_bytes);
  if (backend.memory_needed(source, room.span(), 1, &needed, &report) != Error::kOk) return;
  const Result<Span<const uint8_t>> file = format::open_nested(payload, nullptr);
  const BufferLoader loader(*file);
  const Result<Program> program = Program::load(loader, KernelTable());
  Call call(sim);
  if (!make_call(program->method_meta(size_t{0}).value(), payload.size(), &call)) return;
  Block temp(kMostMemory);
  MemoryAllocator memory(room.span());
  DelegateLoad load;
  load.memory = &memory;
  load.use = {kDevice, &sim, nullptr};
  load.temp = temp.span();
  load.args = call.args;
  const Result<DelegateHandle*> handle = backend.load(source, load, &report);
  if (!handle.ok()) return;
  KernelContext context(temp.span(), nullptr);
  if (!has_jumps(*program)) {
    static_cast<void>(backend.execute(*handle, context, call.args));
    // Once more, with its results elsewhere.
    Call other(sim);
    if (make_call(program->method_meta(size_t{0}).value(), payload.size(), &other)) {
      static_cast<void>(backend.execute(*handle, context, other.args));
    }
  }
  backend.unload(*handle);
}

}  // namespace
}  // namespace berth::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace berth;
  const bool whole = size >= 8 && std::memcmp(data, "BerthNst", 8) == 0;
  const format::NestedHeader header = format::make_nested_header(size, format::kNestedOutputScratchVersion);
  const size_t before = whole ? 0 : sizeof(header.bytes);
  // At a multiple of 16, and of exactly this size.
  const std::unique_ptr<uint8_t[]> payload(new uint8_t[before + size]);
  std::memcpy(payload.get(), header.bytes, before);
  if (size > 0) std::memcpy(payload.get() + before, data, size);
  fuzz::run_payload({payload.get(), before + size});
  return 0;
}
