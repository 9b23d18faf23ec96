// Observers of the caller's.
#pragma once

#include "c/handles.h"
#include "runtime/host/chrome_trace.h"
#include "runtime/host/events.h"

namespace berth::c {

/// Tells a function of C.
class CallersObserver final : public EventObserver {
 public:
  explicit CallersObserver(const berth_observer& observer) : observer_(observer) {}
  void event(const Event& event) override;

 private:
  berth_observer observer_;
};

}  // namespace berth::c

struct berth_trace : berth::c::Handle {
  berth_trace();

  berth::ChromeTrace trace;
  berth_observer observer = {};
};
