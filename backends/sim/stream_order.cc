#include "backends/sim/stream_order.h"

#include <algorithm>

namespace berth {

StreamOrder::Worker StreamOrder::add_stream() {
  streams_[++last_] = Stream();
  return last_;
}

void StreamOrder::remove_stream(Worker stream) {
  synchronize(stream);
  streams_.erase(stream);
}

void StreamOrder::merge(const Clock& from, Clock* to) {
  for (const auto& [worker, work] : from) {
    uint64_t& known = (*to)[worker];
    known = std::max(known, work);
  }
}

bool StreamOrder::is_before(const Access& access, Worker worker) const {
  if (access.worker == worker) return true;
  const auto stream = streams_.find(worker);
  if (stream == streams_.end()) return false;
  const auto seen = stream->second.seen.find(access.worker);
  return seen != stream->second.seen.end() && seen->second >= access.work;
}

bool StreamOrder::access(Worker worker, uintptr_t begin, size_t size, bool writes) {
  if (size == 0) return true;
  const uintptr_t end = begin + size;
  const auto touches = [&](const Access& other) { return other.begin < end && begin < other.end; };
  for (const Access& other : accesses_) {
    if (touches(other) && (writes || other.writes) && !is_before(other, worker)) return false;
  }
  // The host's own work is complete before anything that follows.
  if (worker == kHost) return true;
  if (writes) {
    const auto covered = [&](const Access& other) { return begin <= other.begin && other.end <= end; };
    accesses_.erase(std::remove_if(accesses_.begin(), accesses_.end(), covered), accesses_.end());
  }
  accesses_.push_back({begin, end, worker, ++streams_[worker].work, writes});
  return true;
}

void StreamOrder::record(Worker stream) {
  if (stream == kHost) return;
  Stream& of = streams_[stream];
  of.mark = of.work;
  of.mark_seen = of.seen;
}

void StreamOrder::wait(Worker stream, Worker other) {
  if (stream == kHost || other == kHost) return;
  const Stream& marked = streams_[other];
  Clock mark = marked.mark_seen;
  mark[other] = marked.mark;
  merge(mark, &streams_[stream].seen);
}

void StreamOrder::synchronize(Worker stream) { reach(point(stream)); }

StreamOrder::Point StreamOrder::point(Worker stream) const {
  const auto known = streams_.find(stream);
  if (stream == kHost || known == streams_.end()) return {};
  return {stream, known->second.work, known->second.seen};
}

void StreamOrder::reach(const Point& point) {
  if (point.stream == kHost) return;
  merge(point.seen, &host_);
  uint64_t& known = host_[point.stream];
  known = std::max(known, point.work);
  drop_done();
}

void StreamOrder::drop_done() {
  const auto done = [&](const Access& access) {
    const auto known = host_.find(access.worker);
    return known != host_.end() && known->second >= access.work;
  };
  accesses_.erase(std::remove_if(accesses_.begin(), accesses_.end(), done), accesses_.end());
}

void StreamOrder::forget(uintptr_t begin, size_t size) {
  const auto inside = [&](const Access& access) { return begin <= access.begin && access.end <= begin + size; };
  accesses_.erase(std::remove_if(accesses_.begin(), accesses_.end(), inside), accesses_.end());
}

}  // namespace berth
