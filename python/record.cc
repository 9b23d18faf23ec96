#include "python/record.h"

namespace nb = nanobind;

namespace berth::python {

Error Recorder::before(const InstructionEvent& event) {
  open_.push_back(events_.size());
  events_.push_back({event.method, event.index, event.name, open_.size() - 1, event.is_delegate, {}, {}});
  events_.back().start = Clock::now();
  return Error::kOk;
}

void Recorder::after(const InstructionEvent&, Error) {
  events_[open_.back()].end = Clock::now();
  open_.pop_back();
}

nb::list Recorder::events() const {
  nb::list list;
  if (events_.empty()) return list;
  const Clock::time_point origin = events_.front().start;
  const auto nanoseconds = [](Clock::duration time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  };
  for (const Event& event : events_) {
    list.append(nb::make_tuple(event.method.c_str(), event.instruction, event.name.c_str(), event.depth,
                               event.is_delegate, nanoseconds(event.start - origin),
                               nanoseconds(event.end - event.start)));
  }
  return list;
}

}  // namespace berth::python
