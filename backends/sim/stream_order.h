// StreamOrder: whether work that touches the same bytes is in order. A real device runs what is on two streams at the
// same time unless one was told to wait; the simulated one works at once and would hide a missing wait. So it keeps
// account: which work has touched which bytes, and what must be done before what.
//
// Each stream counts its work. A stream has "seen" another one up to some number when everything up to there is done
// before what is put into the stream from now on: by a wait, or because the host waited first. (Vector clocks: F.
// Mattern, Virtual Time and Global States of Distributed Systems, 1988.) Threads of the host count as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace berth {

/// Not for several threads at once.
class StreamOrder {
 public:
  /// Who does work: a stream, or the host (work without a stream, done when the call returns).
  using Worker = uint32_t;
  static constexpr Worker kHost = 0;

  Worker add_stream();
  /// Its work is waited for.
  void remove_stream(Worker stream);

  /// New work of `worker` on the bytes [begin, begin + size). False when work of another stream that touched some of
  /// them, one of both writing, may still be under way.
  bool access(Worker worker, uintptr_t begin, size_t size, bool writes);

  void record(Worker stream);
  void wait(Worker stream, Worker other);
  void synchronize(Worker stream);
  /// Where a stream has come to with the work that it has.
  struct Point {
    Worker stream = kHost;
    uint64_t work = 0;
    std::map<Worker, uint64_t> seen;
  };
  Point point(Worker stream) const;
  /// The host waits until then.
  void reach(const Point& point);
  /// The bytes were given back, their work waited for.
  void forget(uintptr_t begin, size_t size);

 private:
  using Clock = std::map<Worker, uint64_t>;
  struct Stream {
    uint64_t work = 0;
    Clock seen;
    // Of the last record().
    uint64_t mark = 0;
    Clock mark_seen;
  };
  struct Access {
    uintptr_t begin;
    uintptr_t end;
    Worker worker;
    uint64_t work;
    bool writes;
  };

  static void merge(const Clock& from, Clock* to);
  bool is_before(const Access& access, Worker worker) const;
  void drop_done();

  Worker last_ = kHost;
  std::map<Worker, Stream> streams_;
  Clock host_;
  std::vector<Access> accesses_;  // of streams, not known to be done
};

}  // namespace berth
