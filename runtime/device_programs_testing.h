// For tests: programs on devices, and a backend that adds tensors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/target_device.h"
#include "format/write/programs_testing.h"
#include "runtime/arguments.h"
#include "runtime/device_memory_buffer.h"
#include "runtime/program.h"
#include "runtime/recording_allocator_testing.h"

namespace berth::testing {

inline constexpr int32_t kTwoByTwo[] = {2, 2};
/// Two tensors of these sizes.
inline constexpr float kA[] = {1, 2, 3, 4};
inline constexpr float kB[] = {10, 20, 30, 40};

/// A tensor on a device, at `offset` in arena `arena`, or not planned if the offset is negative.
inline format::TensorDesc on_device(std::vector<int32_t> sizes, uint32_t arena, int64_t offset, Device device) {
  format::TensorDesc t = format::testing::tensor(std::move(sizes), offset);
  if (t.planned) t.planned->memory_id = arena;
  t.device = device;
  return t;
}

inline format::DelegateDesc add_delegate(const std::string& device) {
  return {"FakeAdd", 0, {{"rounds", {1}}, {kTargetDevice, {device.begin(), device.end()}}}};
}

/// out = a + b of 2x2 floats, added on cuda:0, with ExecuTorch 1.5's memory plan:
///
///     0 a cpu [0, 16)     1 b cpu [16, 32)     5 out cpu [0, 16), in a's place
///     2 a cuda [0, 16)    3 b cuda [16, 32)    4 sum cuda [32, 48)
inline format::ProgramDesc delegated_add(Device device = Device(DeviceType::kCuda, 0)) {
  format::MethodDesc m;
  m.name = "forward";
  m.values = {format::testing::tensor({2, 2}, 0), format::testing::tensor({2, 2}, 16),
              on_device({2, 2}, 2, 0, device),    on_device({2, 2}, 2, 16, device),
              on_device({2, 2}, 2, 32, device),   format::testing::tensor({2, 2}, 0)};
  m.inputs = {0, 1};
  m.outputs = {5};
  m.operators = {{"et_copy::_h2d_copy", "out"}, {"et_copy::_d2h_copy", "out"}};
  m.delegates = {add_delegate(to_text(device).text)};
  m.instructions = {format::KernelCallDesc{0, {0, 2, 2}}, format::KernelCallDesc{0, {1, 3, 3}},
                    format::DelegateCallDesc{0, {2, 3, 4}}, format::KernelCallDesc{1, {4, 5, 5}}};
  m.arenas = {{32, Device()}, {48, device}};
  format::ProgramDesc program;
  program.methods = {m};
  program.payloads = {format::Bytes::of({'a', 'd', 'd'})};
  return program;
}

/// sum = state + b on the device: the state is the delegate's first argument, 6 cuda [48, 64), and nothing defines it.
inline format::ProgramDesc device_state(Device device = Device(DeviceType::kCuda, 0)) {
  format::ProgramDesc program = delegated_add(device);
  format::MethodDesc& m = program.methods[0];
  m.values.emplace_back(on_device({2, 2}, 2, 48, device));
  std::get<format::DelegateCallDesc>(m.instructions[2]).args[0] = 6;
  m.arenas[1].bytes = 64;
  return program;
}

/// The same as delegated_add() without copies: inputs and output are the caller's, on the device.
inline format::ProgramDesc device_io_add(Device device = Device(DeviceType::kCuda, 0)) {
  format::ProgramDesc program = delegated_add(device);
  format::MethodDesc& m = program.methods[0];
  m.values = {on_device({2, 2}, 1, -1, device), on_device({2, 2}, 1, -1, device), on_device({2, 2}, 1, -1, device)};
  m.outputs = {2};
  m.operators = {};
  m.instructions = {format::DelegateCallDesc{0, {0, 1, 2}}};
  m.arenas = {};
  return program;
}

/// The backend "FakeAdd": args[2] = args[0] + args[1], on the host or in memory of a RecordingAllocator.
class AddBackend final : public Backend {
 public:
  const char* name() const override { return "FakeAdd"; }
  bool serves(DeviceType type) const override { return type != refused; }

  Error memory_needed(const DelegateSource& source, Span<uint8_t> scratch, int, DelegateMemory* needed,
                      format::Report* report) const override {
    if (source.payload.size() < 3) return format::fail(report, Error::kInvalidProgram, "payload", "it is too short");
    *needed = {method_bytes, scratch.size() >= method_bytes ? temp_bytes : MemoryNeeded::kUnknown, 2};
    return Error::kOk;
  }

  Result<DelegateHandle*> load(const DelegateSource& source, const DelegateLoad& load,
                               format::Report* report) override {
    if (++loads == fail_load) return format::fail(report, Error::kOutOfResources, "chip", "it is busy");
    auto* handle = static_cast<Handle*>(load.memory->allocate(method_bytes, alignof(Handle)));
    BERTH_CHECK(handle != nullptr && load.args.size() == 3 && source.specs.size() == 2);
    BERTH_CHECK(source.device.is_cpu() || load.use.allocator != nullptr);
    new (handle) Handle{source.device, load.use, source.named_data};
    ++live;
    return reinterpret_cast<DelegateHandle*>(handle);
  }

  Error execute(DelegateHandle* handle, KernelContext& context, Span<EValue* const> args) override {
    if (++runs == fail_run) return context.fail(Error::kAccessFailed, "the chip does not answer");
    const Handle& h = *reinterpret_cast<Handle*>(handle);
    users.push_back(context.user());
    if (!h.device.is_cpu()) BERTH_CHECK(context.devices().find(h.device)->stream == h.use.stream);
    BERTH_CHECK(context.temp().size() >= temp_bytes);
    const float* a = address(h, args[0]->tensor());
    const float* b = address(h, args[1]->tensor());
    float* out = address(h, args[2]->tensor());
    BERTH_RETURN_IF_ERROR(args[2]->tensor().resize(args[0]->tensor().sizes()));
    for (int64_t i = 0; i < args[0]->tensor().numel(); ++i) out[i] = a[i] + b[i];
    return Error::kOk;
  }

  void unload(DelegateHandle* handle) override {
    BERTH_CHECK(handle != nullptr);
    --live;
  }

  size_t method_bytes = 96;
  size_t temp_bytes = 128;
  DeviceType refused = DeviceType::kSim;
  int fail_load = 0;
  int fail_run = 0;
  int loads = 0;
  int runs = 0;
  int live = 0;
  std::vector<void*> users;

 private:
  struct Handle {
    Device device;
    DeviceUse use;
    const NamedDataMap* named_data;
  };
  static float* address(const Handle& handle, const Tensor& tensor) {
    float* data = static_cast<float*>(tensor.raw());
    return handle.device.is_cpu() ? data : RecordingAllocator::host(data);
  }
};

inline Error h2d(KernelContext& context, const Tensor& self, Tensor& out) {
  const DeviceUse& use = *context.devices().find(out.device());
  return use.allocator->copy_host_to_device(out.raw(), self.raw(), self.nbytes(), use.device.index, use.stream);
}

inline Error d2h(KernelContext& context, const Tensor& self, Tensor& out) {
  const DeviceUse& use = *context.devices().find(self.device());
  return use.allocator->copy_device_to_host(out.raw(), self.raw(), self.nbytes(), use.device.index, use.stream);
}

inline KernelTable copy_kernels() {
  static constexpr KernelEntry kTable[] = {
      {"et_copy::_h2d_copy.out", "Tensor self -> Tensor out", untyped<h2d>, nullptr, -1, true},
      {"et_copy::_d2h_copy.out", "Tensor self -> Tensor out", untyped<d2h>, nullptr, -1, true},
  };
  return kTable;
}

/// A program loaded with a simulated CUDA device and the adding backend, with the memory for its method. Tests may
/// change each part before the next step.
struct OnDevices {
  explicit OnDevices(const format::ProgramDesc& desc) : file(format::testing::bytes_of(desc)) {
    BERTH_CHECK(registry.register_allocator(&cuda) == Error::kOk);
    options.registry = &registry;
    options.backends = backends;
    options.report = &report;
  }
  ~OnDevices() { method.reset(); }

  Error open() {
    const KernelTable tables[] = {copy_kernels(), more_kernels};
    Result<Program> loaded = Program::load(loader, tables, options);
    if (!loaded.ok()) return loaded.error();
    program = std::make_unique<Program>(std::move(*loaded));
    return Error::kOk;
  }

  /// Provides exactly the memory that MethodMeta and memory_needed ask for.
  Error load() {
    if (program == nullptr) BERTH_RETURN_IF_ERROR(open());
    const MethodMeta meta = program->method_meta(name).value();
    BERTH_ASSIGN_OR_RETURN(const MemoryNeeded least, program->memory_needed(name, {}, 1, &report));
    method_memory.assign(least.method_bytes + 16, 0xee);
    uint8_t* start = method_memory.data() + (-reinterpret_cast<uintptr_t>(method_memory.data()) & 15);
    BERTH_ASSIGN_OR_RETURN(needed, program->memory_needed(name, {start, least.method_bytes}, 1, &report));
    temp.resize(needed.temp_bytes + 64);
    for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
      BERTH_RETURN_IF_ERROR(take_arena(meta, i));
    }
    MemoryAllocator allocator({start, least.method_bytes});
    const HierarchicalAllocator planned(spans, devices);
    method_options.report = &report;
    Result<Method> loaded = program->load_method(name, MemoryManager(allocator, planned, temp), method_options);
    if (!loaded.ok()) return loaded.error();
    method = std::make_unique<Method>(std::move(*loaded));
    return Error::kOk;
  }

  Error take_arena(const MethodMeta& meta, size_t index) {
    const size_t bytes = static_cast<size_t>(meta.memory_planned_buffer_size(index).value());
    devices.push_back(meta.memory_planned_buffer_device(index).value());
    if (devices.back().is_cpu()) {
      host_arenas.emplace_back(bytes, dirt);
      spans.emplace_back(host_arenas.back());
      return Error::kOk;
    }
    BERTH_ASSIGN_OR_RETURN(DeviceMemoryBuffer buffer, DeviceMemoryBuffer::create(bytes, devices.back(), 16, registry));
    spans.push_back(buffer.as_span());
    device_arenas.push_back(std::move(buffer));
    return Error::kOk;
  }

  std::string said() const { return std::string(report.place) + ": " + report.message; }

  RecordingAllocator cuda;
  DeviceAllocatorRegistry registry;
  AddBackend add;
  Backend* backends[1] = {&add};
  KernelTable more_kernels;
  Report report;
  LoadOptions options;
  MethodOptions method_options;
  const char* name = "forward";
  /// The content of host arenas before the load.
  uint8_t dirt = 0xab;

  std::vector<uint8_t> file;
  BufferLoader loader{Span<const uint8_t>(file)};
  std::unique_ptr<Program> program;
  MemoryNeeded needed;
  std::vector<uint8_t> method_memory;
  std::vector<uint8_t> temp;
  std::vector<std::vector<uint8_t>> host_arenas;
  std::vector<DeviceMemoryBuffer> device_arenas;
  std::vector<Span<uint8_t>> spans;
  std::vector<Device> devices;
  std::unique_ptr<Method> method;
};

}  // namespace berth::testing
