#include "compiler/memory/scheduling/stretch.h"

#include <algorithm>

namespace berth::scheduling {
namespace {

void sort_unique(std::vector<int32_t>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

TaskGraph::TaskGraph(const Problem& problem)
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

Stretch TaskGraph::stretch(const std::vector<int32_t>& order, int32_t begin, int32_t end) const {
  Stretch out;
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
    StretchBuffer part;
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
    StretchTask& task = out.tasks[t];
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

int64_t made_bytes(const Stretch& stretch, int32_t task) {
  int64_t bytes = 0;
  for (int32_t buffer : stretch.tasks[task].makes) bytes += stretch.buffers[buffer].bytes;
  return bytes;
}

int64_t staying_bytes(const Stretch& stretch, int32_t task) {
  int64_t bytes = 0;
  for (int32_t buffer : stretch.tasks[task].makes) {
    const StretchBuffer& made = stretch.buffers[buffer];
    if (made.kept || !made.readers.empty()) bytes += made.bytes;
  }
  return bytes;
}

Walk::Walk(const Stretch& stretch) : stretch_(stretch), live_(stretch.start) {
  for (const StretchBuffer& buffer : stretch.buffers) {
    left_.push_back(buffer.kept ? -1 : static_cast<int32_t>(buffer.readers.size()));
  }
  for (const StretchTask& task : stretch.tasks) waiting_.push_back(static_cast<int32_t>(task.before.size()));
}

int64_t Walk::freed(const StretchTask& task) const {
  int64_t bytes = 0;
  for (int32_t buffer : task.reads) bytes += dies_with(buffer) ? stretch_.buffers[buffer].bytes : 0;
  return bytes;
}

int64_t Walk::during(int32_t task) const {
  const StretchTask& t = stretch_.tasks[task];
  return live_ + made_bytes(stretch_, task) -
         saved_bytes(stretch_, t, [&](int32_t buffer) { return dies_with(buffer); });
}

int64_t Walk::after(int32_t task) const { return live_ + staying_bytes(stretch_, task) - freed(stretch_.tasks[task]); }

void Walk::run(int32_t task) {
  live_ = after(task);
  const StretchTask& t = stretch_.tasks[task];
  for (int32_t buffer : t.reads) --left_[buffer];
  for (int32_t other : t.after) --waiting_[other];
}

void Walk::undo(int32_t task) {
  const StretchTask& t = stretch_.tasks[task];
  for (int32_t buffer : t.reads) ++left_[buffer];
  for (int32_t other : t.after) ++waiting_[other];
  live_ -= staying_bytes(stretch_, task) - freed(t);
}

int64_t stretch_peak(const Stretch& stretch, const std::vector<int32_t>& order) {
  Walk walk(stretch);
  int64_t peak = stretch.start;
  for (int32_t task : order) {
    peak = std::max(peak, walk.during(task));
    walk.run(task);
  }
  return peak;
}

int64_t stretch_bound(const Stretch& stretch) {
  int64_t bound = stretch.start;
  int64_t end = stretch.base;
  for (size_t t = 0; t < stretch.tasks.size(); ++t) {
    const StretchTask& task = stretch.tasks[t];
    int64_t bytes = stretch.base + made_bytes(stretch, static_cast<int32_t>(t));
    for (int32_t buffer : task.reads) bytes += stretch.buffers[buffer].bytes;
    bound = std::max(bound,
                     bytes - saved_bytes(stretch, task, [&](int32_t buffer) { return !stretch.buffers[buffer].kept; }));
    for (int32_t buffer : task.makes) end += stretch.buffers[buffer].kept ? stretch.buffers[buffer].bytes : 0;
  }
  return std::max(bound, end);
}

}  // namespace berth::scheduling
