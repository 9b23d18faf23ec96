// SimClock: when the work of simulated devices would be done if copies and delegates took the declared times. The
// devices still compute at once: only time is simulated, so that a run takes no longer and always gives the same
// figures.
//
// A stream does its work in order. Work begins once the host has issued it and all that its stream waits for is done.
// The host does not wait, except for copies from and to its memory, unless they are only begun and finished later, and
// for work without a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "base/device.h"
#include "runtime/backend.h"

namespace berth {

/// Of one copy.
struct SimCopyTime {
  double seconds = 0;
  double bytes_per_second = std::numeric_limits<double>::infinity();

  double of(size_t bytes) const { return seconds + static_cast<double>(bytes) / bytes_per_second; }
};

/// What is declared of all devices.
struct SimTimes {
  SimCopyTime to_device;
  SimCopyTime from_device;
  SimCopyTime between;
  /// Seconds of a call of a delegate, asked when it is loaded. Empty: none.
  std::function<double(const DelegateSource& source)> delegate;
};

enum class SimWorkKind : uint8_t { kToDevice, kFromDevice, kBetween, kDelegate, kHost };

/// What was done, and when.
struct SimWork {
  SimWorkKind kind = SimWorkKind::kHost;
  DeviceIndex index = 0;  // of the device whose stream did it
  size_t bytes = 0;       // of a copy
  double begin = 0;       // seconds
  double end = 0;
};

/// Not for several threads at once.
class SimClock {
 public:
  /// As StreamOrder::Worker: a stream, or the host.
  using Worker = uint32_t;
  static constexpr Worker kHost = 0;

  /// Returns when it ends. `begun`: the host does not wait for a copy to its memory.
  double work(Worker worker, SimWorkKind kind, DeviceIndex index, size_t bytes, double seconds, bool begun = false);
  /// The host waits until then.
  void reach(double seconds);
  void record(Worker stream) { marks_[stream] = free_[stream]; }
  void wait(Worker stream, Worker other);
  /// The host waits.
  void synchronize(Worker stream);
  void remove(Worker stream);

  /// The host's clock, in seconds.
  double host() const { return host_; }
  const std::vector<SimWork>& log() const { return log_; }
  /// Begins anew, at 0.
  void reset();

 private:
  double host_ = 0;
  std::map<Worker, double> free_;   // when a stream has done all its work
  std::map<Worker, double> marks_;  // when it reaches its latest mark
  std::vector<SimWork> log_;
};

}  // namespace berth
