#include "backends/sim/sim_clock.h"

#include <algorithm>

namespace berth {

double SimClock::work(Worker worker, SimWorkKind kind, DeviceIndex index, size_t bytes, double seconds, bool begun) {
  const double begin = worker == kHost ? host_ : std::max(host_, free_[worker]);
  const double end = begin + seconds;
  if (worker != kHost) free_[worker] = end;
  const bool host_waits = worker == kHost || kind == SimWorkKind::kToDevice || kind == SimWorkKind::kFromDevice;
  if (host_waits && (worker == kHost || !begun)) host_ = end;
  log_.push_back({kind, index, bytes, begin, end});
  return end;
}

void SimClock::reach(double seconds) { host_ = std::max(host_, seconds); }

void SimClock::wait(Worker stream, Worker other) {
  const auto mark = marks_.find(other);
  if (stream == kHost || mark == marks_.end()) return;
  free_[stream] = std::max(free_[stream], mark->second);
}

void SimClock::synchronize(Worker stream) {
  if (stream != kHost) host_ = std::max(host_, free_[stream]);
}

void SimClock::remove(Worker stream) {
  synchronize(stream);
  free_.erase(stream);
  marks_.erase(stream);
}

void SimClock::reset() {
  host_ = 0;
  log_.clear();
  for (auto* times : {&free_, &marks_}) {
    for (auto& entry : *times) entry.second = 0;
  }
}

}  // namespace berth
