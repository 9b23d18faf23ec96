// HostMethod: a Method with all its memory, from the heap and from its devices. What the tool, the examples and tests
// on hosts load with.
//
//     Result<MappedFileLoader> loader = MappedFileLoader::open("model.pte");
//     Result<Program> program = Program::load(*loader, portable::kernels());
//     Result<HostMethod> method = HostMethod::load(*program, "forward");
//     method->method().set_input(…);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "runtime/device_memory_buffer.h"
#include "runtime/host/host_buffer.h"
#include "runtime/memory.h"
#include "runtime/program.h"

namespace berth {

/// All arenas of a method, or of all methods of a program, on the host and on devices, as the file has them. What was
/// taken goes back when it is destroyed, and when make() fails.
class HostArenas {
 public:
  /// Of all methods, for methods that share them: arena i of one method is arena i of another where both are on one
  /// device, as large and as aligned as the method that needs most. So state in an arena passes from one method to the
  /// next, as in a program made for that. Load all methods before the first runs: loading sets state to its initial
  /// value.
  ///
  /// NotFound for a device that this process has not got, before anything is taken; MemoryAllocationFailed.
  static Result<HostArenas> make(const Program& program, Report* report = nullptr);
  /// Of one method. InvalidArgument when there is none of that name.
  static Result<HostArenas> make(const Program& program, const char* method, Report* report = nullptr);

  /// Bytes of these arenas together, without taking any; UINT64_MAX for more than that.
  static Result<uint64_t> bytes(const Program& program);
  static Result<uint64_t> bytes(const Program& program, const char* method);

  /// What a HierarchicalAllocator for `meta` takes, entry i for its arena i; empty spans for what make() was not asked
  /// for.
  struct View {
    std::vector<Span<uint8_t>> spans;
    std::vector<Device> devices;
  };
  View view(const MethodMeta& meta) const;

 private:
  struct Arena {
    size_t index = 0;
    Device device;
    uint64_t bytes = 0;
    size_t alignment = kArenaAlignment;
    HostBuffer host;
    DeviceMemoryBuffer memory;

    Span<uint8_t> span() const { return device.is_cpu() ? host.bytes() : memory.as_span(); }
  };

  Error want_all(const Program& program);
  Error want(const MethodMeta& meta);
  uint64_t wanted() const;
  Error take(const Program& program, Report* report);
  const Arena* find(size_t index, Device device) const;

  std::vector<Arena> arenas_;
};

struct HostOptions {
  /// Null: everything runs on the calling thread.
  ThreadPool* pool = nullptr;
  /// Null: arenas of the method's own. Must outlive the method.
  const HostArenas* arenas = nullptr;
  /// Filled when load() fails; may be null.
  Report* report = nullptr;
  /// MethodOptions::user.
  void* user = nullptr;
  /// Does in the load what the first run would otherwise have to do: makes the host's arenas and temp memory resident
  /// (but state of 16 MiB and more that begins as zeros, and what no tensor lies in: these take pages when they are
  /// first written), brings in the pages of constants, and warms up delegates (Method::warm_up). A load of a small
  /// model takes up to a millisecond more.
  bool resident = false;
};

class HostMethod {
 public:
  /// Makes the arenas as the file has them, method memory and temp memory as Program::memory_needed says, and memory
  /// for each output that is not planned, on its device. Inputs that are not planned stay the caller's. Errors as
  /// Program::load_method and HostArenas::make. The Program must outlive the method.
  static Result<HostMethod> load(const Program& program, const char* name, const HostOptions& options = {});

  Method& method() { return *method_; }
  const MemoryNeeded& memory() const { return state_->needed; }

 private:
  // What the Method keeps addresses of; it does not move when HostMethod does.
  struct State {
    MemoryNeeded needed;
    HostBuffer method_bytes;
    HostBuffer temp;
    HostArenas arenas;
    std::vector<HostBuffer> outputs;
    std::vector<DeviceMemoryBuffer> device_outputs;
  };

  HostMethod(std::unique_ptr<State> state, Method method)
      : state_(std::move(state)), method_(std::make_unique<Method>(std::move(method))) {}
  Error bind_outputs(const Program& program, Report* report);
  Error bind_output(const Program& program, size_t index, const TensorInfo& info, Report* report);

  std::unique_ptr<State> state_;
  std::unique_ptr<Method> method_;
};

}  // namespace berth
