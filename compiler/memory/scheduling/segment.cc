#include "compiler/memory/scheduling/segment.h"

#include <algorithm>

namespace berth::scheduling {
namespace {

void sort_unique(std::vector<int32_t>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

Graph::Graph(const Problem& problem)
    : problem_(&problem),
      before_(problem.tasks),
      after_(problem.tasks),
      touched_(problem.tasks),
      in_place_(problem.tasks) {
  const auto add = [&](int32_t before, int32_t after) {
    before_[after].push_back(before);
    after_[before].push_back(after);
  };
  for (const Edge& edge : problem.edges) add(edge.before, edge.after);
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    if (buffer.producer >= 0) touched_[buffer.producer].push_back(static_cast<int32_t>(b));
    for (int32_t reader : buffer.readers) {
      touched_[reader].push_back(static_cast<int32_t>(b));
      if (buffer.producer >= 0) add(buffer.producer, reader);
    }
  }
  for (size_t i = 0; i < problem.in_place.size(); ++i) {
    const int32_t producer = problem.buffers[problem.in_place[i].to].producer;
    if (producer >= 0) in_place_[producer].push_back(static_cast<int32_t>(i));
  }
  for (auto* lists : {&before_, &after_, &touched_}) {
    for (std::vector<int32_t>& list : *lists) sort_unique(list);
  }
}

Segment Graph::segment(const std::vector<int32_t>& order, int32_t begin, int32_t end) const {
  Segment out;
  std::vector<int32_t> place(tasks());  // of each task: before the stretch -1, after it -2, or its number there
  for (int32_t i = 0; i < tasks(); ++i) {
    place[order[i]] = i < begin ? -1 : i >= end ? -2 : i - begin;
  }
  out.names.assign(order.begin() + begin, order.begin() + end);
  out.tasks.resize(out.names.size());
  std::vector<int32_t> number(problem_->buffers.size(), -1);
  for (size_t b = 0; b < problem_->buffers.size(); ++b) {
    const Buffer& buffer = problem_->buffers[b];
    const int32_t producer = buffer.producer < 0 ? -1 : place[buffer.producer];
    if (producer == -2) continue;
    SegmentBuffer part;
    part.bytes = buffer.bytes;
    part.producer = producer;
    part.kept = buffer.kept;
    bool touched = producer >= 0;
    for (int32_t reader : buffer.readers) {
      if (place[reader] == -2) part.kept = true;
      if (place[reader] < 0) continue;
      touched = true;
      part.readers.push_back(place[reader]);
    }
    if (producer == -1 && (touched || part.kept)) out.start += part.bytes;
    if (producer == -1 && part.kept) out.base += part.bytes;
    if (!touched) continue;
    sort_unique(part.readers);
    number[b] = static_cast<int32_t>(out.buffers.size());
    if (producer >= 0) out.tasks[producer].makes.push_back(number[b]);
    if (!part.kept) {
      for (int32_t reader : part.readers) out.tasks[reader].reads.push_back(number[b]);
    }
    out.buffers.push_back(std::move(part));
  }
  for (size_t t = 0; t < out.names.size(); ++t) {
    SegmentTask& task = out.tasks[t];
    for (int32_t other : before(out.names[t])) {
      if (place[other] >= 0) task.before.push_back(place[other]);
    }
    for (int32_t other : after(out.names[t])) {
      if (place[other] >= 0) task.after.push_back(place[other]);
    }
    for (int32_t index : in_place_[out.names[t]]) {
      const InPlace& candidate = problem_->in_place[index];
      if (number[candidate.from] >= 0) {
        task.in_place.push_back({number[candidate.from], number[candidate.to]});
      }
    }
  }
  return out;
}

int64_t made_bytes(const Segment& segment, int32_t task) {
  int64_t bytes = 0;
  for (int32_t buffer : segment.tasks[task].makes) bytes += segment.buffers[buffer].bytes;
  return bytes;
}

int64_t staying_bytes(const Segment& segment, int32_t task) {
  int64_t bytes = 0;
  for (int32_t buffer : segment.tasks[task].makes) {
    const SegmentBuffer& made = segment.buffers[buffer];
    if (made.kept || !made.readers.empty()) bytes += made.bytes;
  }
  return bytes;
}

Walk::Walk(const Segment& segment) : segment_(segment), live_(segment.start) {
  for (const SegmentBuffer& buffer : segment.buffers) {
    left_.push_back(buffer.kept ? -1 : static_cast<int32_t>(buffer.readers.size()));
  }
  for (const SegmentTask& task : segment.tasks) waiting_.push_back(static_cast<int32_t>(task.before.size()));
}

int64_t Walk::freed(const SegmentTask& task) const {
  int64_t bytes = 0;
  for (int32_t buffer : task.reads) bytes += dies_with(buffer) ? segment_.buffers[buffer].bytes : 0;
  return bytes;
}

int64_t Walk::during(int32_t task) const {
  const SegmentTask& t = segment_.tasks[task];
  return live_ + made_bytes(segment_, task) -
         saved_bytes(segment_, t, [&](int32_t buffer) { return dies_with(buffer); });
}

int64_t Walk::after(int32_t task) const { return live_ + staying_bytes(segment_, task) - freed(segment_.tasks[task]); }

void Walk::run(int32_t task) {
  live_ = after(task);
  const SegmentTask& t = segment_.tasks[task];
  for (int32_t buffer : t.reads) --left_[buffer];
  for (int32_t other : t.after) --waiting_[other];
}

void Walk::undo(int32_t task) {
  const SegmentTask& t = segment_.tasks[task];
  for (int32_t buffer : t.reads) ++left_[buffer];
  for (int32_t other : t.after) ++waiting_[other];
  live_ -= staying_bytes(segment_, task) - freed(t);
}

int64_t segment_peak(const Segment& segment, const std::vector<int32_t>& order) {
  Walk walk(segment);
  int64_t peak = segment.start;
  for (int32_t task : order) {
    peak = std::max(peak, walk.during(task));
    walk.run(task);
  }
  return peak;
}

int64_t segment_bound(const Segment& segment) {
  int64_t bound = segment.start;
  int64_t end = segment.base;
  for (size_t t = 0; t < segment.tasks.size(); ++t) {
    const SegmentTask& task = segment.tasks[t];
    int64_t bytes = segment.base + made_bytes(segment, static_cast<int32_t>(t));
    for (int32_t buffer : task.reads) bytes += segment.buffers[buffer].bytes;
    bound = std::max(bound,
                     bytes - saved_bytes(segment, task, [&](int32_t buffer) { return !segment.buffers[buffer].kept; }));
    for (int32_t buffer : task.makes) end += segment.buffers[buffer].kept ? segment.buffers[buffer].bytes : 0;
  }
  return std::max(bound, end);
}

}  // namespace berth::scheduling
