// Recorder: what happened in a run, for profiles and traces in Python.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <string>
#include <vector>

#include "runtime/observer.h"

namespace berth::python {

/// Used without the interpreter's lock, for one run; events() takes it.
class Recorder final : public InstructionObserver {
 public:
  Error before(const InstructionEvent& event) override;
  void after(const InstructionEvent& event, Error result) override;

  /// In the order in which they began: (method, instruction, name, depth, is a delegate, start, duration), the times in
  /// nanoseconds since the run began. Depth 1 is inside a delegate of the method.
  nanobind::list events() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Event {
    std::string method;
    size_t instruction;
    std::string name;
    size_t depth;
    bool is_delegate;
    Clock::time_point start;
    Clock::time_point end;
  };

  std::vector<Event> events_;
  std::vector<size_t> open_;
};

}  // namespace berth::python
