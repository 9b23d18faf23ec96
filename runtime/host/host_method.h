// HostMethod: a Method with all its memory, from the heap. What the tool, the examples and tests on hosts load with.
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
#include "runtime/memory.h"
#include "runtime/program.h"

namespace berth {

/// Bytes from the heap, zero at first, at a multiple of 64 (or more, if asked).
class HostBuffer {
 public:
  HostBuffer() = default;
  /// MemoryAllocationFailed when the heap has not got them.
  static Result<HostBuffer> make(size_t bytes, size_t alignment = 64);
  Span<uint8_t> bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> memory_;
  Span<uint8_t> bytes_;
};

/// Arenas that several methods of one program share, each as large as the largest method needs it: so state in an arena
/// passes from one method to the next, as in a program made for that.
class HostArenas {
 public:
  static Result<HostArenas> make(const Program& program, Report* report = nullptr);
  Span<const Span<uint8_t>> spans() const { return spans_; }

 private:
  friend class HostMethod;
  Error add(size_t index, uint64_t bytes, size_t alignment, Report* report);

  std::vector<HostBuffer> buffers_;
  std::vector<Span<uint8_t>> spans_;
};

struct HostOptions {
  /// Null: everything runs on the calling thread.
  ThreadPool* pool = nullptr;
  /// Null: arenas of the method's own. Must outlive the method.
  const HostArenas* arenas = nullptr;
  /// Filled when load() fails; may be null.
  Report* report = nullptr;
};

class HostMethod {
 public:
  /// Makes the arenas as the file has them, method memory and temp memory as Program::memory_needed says, and memory
  /// for each output that is not planned. Inputs that are not planned stay the caller's. Errors as
  /// Program::load_method. The Program must outlive the method.
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
  };

  HostMethod(std::unique_ptr<State> state, Method method)
      : state_(std::move(state)), method_(std::make_unique<Method>(std::move(method))) {}
  Error bind_outputs(Report* report);

  std::unique_ptr<State> state_;
  std::unique_ptr<Method> method_;
};

}  // namespace berth
