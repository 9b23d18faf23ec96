// HostMethod: a Method with all its memory, from the heap and from its devices. The easiest way to run a program where
// there is a heap.
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
#include "runtime/host/events.h"
#include "runtime/host/host_buffer.h"
#include "runtime/memory.h"
#include "runtime/program.h"

namespace berth {

/// All arenas of a method, or of all methods of a program, on the host and on devices. Frees them on destruction.
class HostArenas {
 public:
  /// The arenas of all methods, shared: arena i of one method is arena i of every other method where both are on the
  /// same device, with the largest size and alignment that any method needs. So methods share state that is in an
  /// arena, if the program was made for that. Load all methods before the first run, because loading sets state to its
  /// initial value.
  ///
  /// NotFound for a missing device, before anything is allocated; MemoryAllocationFailed.
  static Result<HostArenas> make(const Program& program, Report* report = nullptr);
  /// The arenas of one method. InvalidArgument when there is none of that name.
  static Result<HostArenas> make(const Program& program, const char* method, Report* report = nullptr);

  /// The bytes of these arenas together, without allocating them; UINT64_MAX on overflow.
  static Result<uint64_t> bytes(const Program& program);
  static Result<uint64_t> bytes(const Program& program, const char* method);

  /// The arguments of a HierarchicalAllocator for `meta`: entry i is its arena i, empty if make() did not allocate it.
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

/// Temp memory that is shared by methods of which only one runs at a time: those that need as many bytes use the same.
/// For sessions of one program, each of which would have its own otherwise. Not thread-safe.
class SharedTemp {
 public:
  /// At least `bytes` bytes; they stay as long as this lives. MemoryAllocationFailed.
  Result<Span<uint8_t>> at_least(size_t bytes);

 private:
  std::vector<HostBuffer> buffers_;
};

struct HostOptions {
  /// Null: everything runs on the calling thread.
  ThreadPool* pool = nullptr;
  /// Shared arenas; if null, the method has its own. Must outlive the method.
  const HostArenas* arenas = nullptr;
  /// Or arenas of the caller's own, with the sizes, alignments and devices that the method's MethodMeta says. Its
  /// memory must outlive the method; the View need not outlive load().
  const HostArenas::View* callers = nullptr;
  /// Temp memory that it shares with other methods; if null, the method has its own. Must outlive the method.
  SharedTemp* temp = nullptr;
  /// Told of the load, of the memory that it takes, and of each instruction; of runs by execute(). Must outlive the
  /// method.
  EventObserver* events = nullptr;
  /// Filled when load() fails; may be null.
  Report* report = nullptr;
  /// MethodOptions::user.
  void* user = nullptr;
  /// Moves work from the first run to the load: makes the host's arenas and temp memory resident, prefaults constants,
  /// and warms up delegates (Method::warm_up). Not prefaulted are state of 16 MiB and more that begins as zeros, parts
  /// of arenas that no tensor uses, and arenas that follow the sizes, which are not known yet. Loading a small model
  /// takes up to a millisecond more.
  bool resident = false;
};

class HostMethod {
 public:
  /// Allocates arenas, method memory, temp memory, and memory for each output that is not planned, and loads the
  /// method. Inputs that are not planned use the caller's memory. Errors as Program::load_method and HostArenas::make.
  /// The Program must outlive the method.
  static Result<HostMethod> load(const Program& program, const char* name, const HostOptions& options = {});

  Method& method() { return *method_; }
  /// method().execute(), and HostOptions::events is told.
  Error execute() { return run_observed(*method_, state_->events); }
  const MemoryNeeded& memory() const { return state_->needed; }

 private:
  // Gives back pages of an arena that follows the sizes, once what the next runs need is far less than what was used:
  // at once below a quarter, and otherwise what the largest of 32 changes of the sizes did not need.
  class Keeper {
   public:
    void add(Span<uint8_t> arena) { arenas_.push_back({arena, 0, 0, 0}); }
    /// An arena of another kind, or on a device.
    void skip() { arenas_.emplace_back(); }
    ArenaFollower follower() { return {&Keeper::follow, this}; }

   private:
    struct Kept {
      Span<uint8_t> memory;
      uint64_t used = 0;    // at most so many bytes were touched
      uint64_t recent = 0;  // the most that was needed since changes were counted anew
      int changes = 0;
    };
    static void follow(void* keeper, size_t arena, uint64_t bytes);

    std::vector<Kept> arenas_;
  };

  // The Method keeps addresses of these, so they must not move when the HostMethod is moved.
  struct State {
    /// Measures the method, allocates method memory, and returns temp memory.
    Result<Span<uint8_t>> take_memory(const Program& program, const char* name, const HostOptions& options,
                                      Report* report);
    /// The caller's arenas, or its own.
    Result<HostArenas::View> take_arenas(const Program& program, const char* name, const HostOptions& options,
                                         Report* report);

    MemoryNeeded needed;
    HostBuffer method_bytes;
    SharedTemp own_temp;
    HostArenas arenas;
    Keeper keeper;
    std::vector<HostBuffer> outputs;
    std::vector<DeviceMemoryBuffer> device_outputs;
    EventObserver* events = nullptr;
    std::unique_ptr<InstructionEvents> instructions;
  };

  HostMethod(std::unique_ptr<State> state, Method method)
      : state_(std::move(state)), method_(std::make_unique<Method>(std::move(method))) {}
  static Result<HostMethod> load_all(const Program& program, const char* name, const HostOptions& options,
                                     Report* report);
  Error bind_outputs(const Program& program, Report* report);
  Error bind_output(const Program& program, size_t index, const TensorInfo& info, Report* report);

  std::unique_ptr<State> state_;
  std::unique_ptr<Method> method_;
};

}  // namespace berth
