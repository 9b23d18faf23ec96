#include "backends/nested/recordings.h"

#include <algorithm>

namespace berth {

void Recordings::reserve(size_t words, size_t sizes) {
  for (Entry& entry : entries_) {
    entry.arguments.reserve(words);
    entry.sizes.reserve(sizes);
  }
}

Recordings::Entry* Recordings::find(Span<const uint64_t> arguments) {
  for (Entry& entry : entries_) {
    if (entry.last_used == 0) continue;
    if (!std::equal(entry.arguments.begin(), entry.arguments.end(), arguments.begin(), arguments.end())) continue;
    entry.last_used = ++clock_;
    return &entry;
  }
  return nullptr;
}

Recordings::Entry& Recordings::oldest() {
  return *std::min_element(entries_, entries_ + kMost, [](const Entry& a, const Entry& b) {
    const bool recorded_a = a.recording != nullptr;
    const bool recorded_b = b.recording != nullptr;
    return recorded_a != recorded_b ? recorded_b : a.last_used < b.last_used;
  });
}

void Recordings::add(Entry& entry, Span<const uint64_t> arguments) {
  entry.arguments.assign(arguments.begin(), arguments.end());
  entry.sizes.clear();
  entry.last_used = ++clock_;
}

}  // namespace berth
