#include "compiler/memory/scheduling/shared_bytes.h"

#include <algorithm>

namespace berth::scheduling {
namespace {

class Divider {
 public:
  explicit Divider(const Problem& problem)
      : buffers_(problem.buffers),
        whole_of_(buffers_.size(), -1),
        parts_of_(buffers_.size()),
        left_out_(buffers_.size(), false) {
    out_.of.resize(buffers_.size());
    for (const Buffer& buffer : buffers_) {
      room_.push_back(buffer.bytes);
      readers_.push_back(buffer.readers);
      std::sort(readers_.back().begin(), readers_.back().end());
    }
  }

  DividedBuffers run(const std::vector<Containment>& containments) {
    for (const Containment& containment : containments) add(containment);
    for (size_t b = 0; b < buffers_.size(); ++b) {
      if (!left_out_[b]) divide(static_cast<int32_t>(b));
    }
    return std::move(out_);
  }

 private:
  bool reads(size_t buffer, int32_t task) const {
    return task >= 0 && std::binary_search(readers_[buffer].begin(), readers_[buffer].end(), task);
  }

  void add(const Containment& containment) {
    const size_t p = containment.part;
    const size_t w = containment.whole;
    if (left_out_[p] || left_out_[w]) return;
    const Buffer& inner = buffers_[p];
    const Buffer& outer = buffers_[w];
    const bool fits = inner.bytes <= room_[w];
    const bool meet = reads(w, inner.producer) || reads(p, outer.producer);
    const bool alone = whole_of_[p] < 0 && parts_of_[p].empty() && whole_of_[w] < 0;
    if (!fits || !meet || !alone || p == w) {
      left_out_[p] = true;
      return;
    }
    whole_of_[p] = containment.whole;
    parts_of_[w].push_back(containment.part);
    room_[w] -= inner.bytes;
  }

  void add_bytes(const SharedBytes& shared) {
    if (shared.bytes == 0) return;
    for (const int32_t buffer : shared.buffers) {
      if (buffer >= 0) out_.of[buffer].push_back(static_cast<int32_t>(out_.bytes.size()));
    }
    out_.bytes.push_back(shared);
  }

  void divide(int32_t b) {
    const Buffer& buffer = buffers_[b];
    if (whole_of_[b] >= 0 && !left_out_[whole_of_[b]]) return;  // with its whole
    int64_t rest = buffer.bytes;
    for (const int32_t part : parts_of_[b]) {
      if (left_out_[part]) continue;
      const Buffer& inner = buffers_[part];
      rest -= inner.bytes;
      add_bytes({inner.bytes, reads(b, inner.producer) ? buffer.producer : inner.producer, {b, part}});
    }
    add_bytes({rest, buffer.producer, {b, -1}});
  }

  const std::vector<Buffer>& buffers_;
  std::vector<std::vector<int32_t>> readers_;   // of each buffer, sorted
  std::vector<int32_t> whole_of_;               // of each buffer, or -1
  std::vector<std::vector<int32_t>> parts_of_;  // of each buffer
  std::vector<int64_t> room_;                   // of each buffer: bytes that belong to no part
  std::vector<bool> left_out_;
  DividedBuffers out_;
};

}  // namespace

DividedBuffers divide_buffers(const Problem& problem, const std::vector<Containment>& containments) {
  return Divider(problem).run(containments);
}

}  // namespace berth::scheduling
