// ChromeTrace: collects events and writes them for Chrome's trace viewer (chrome://tracing, ui.perfetto.dev).
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "runtime/host/events.h"

namespace berth {

/// Thread-safe. Keeps what it is told until it goes, at most kMost events: those that come later are dropped, and
/// json() says how many.
class ChromeTrace final : public EventObserver {
 public:
  static constexpr size_t kMost = 1'000'000;

  void event(const Event& event) override;
  size_t size() const;

  /// The "Trace Event Format": loads, runs, instructions and copies as pairs of "B" and "E" on the thread that they ran
  /// on, memory as instants; microseconds since the first event.
  std::string json() const;

 private:
  struct Kept {
    Event event;  // its texts are in the next two
    std::string method;
    std::string name;
    size_t thread;
  };

  mutable std::mutex mutex_;
  std::vector<Kept> kept_;
  std::vector<uint64_t> threads_;  // in the order in which they came
  size_t dropped_ = 0;
};

}  // namespace berth
