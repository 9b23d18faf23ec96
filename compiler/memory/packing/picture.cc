#include "compiler/memory/packing/picture.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace berth::packing {
namespace {

constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr size_t kLetterCount = sizeof kLetters - 1;

/// `part` of `parts` equal shares of `length` bytes or steps, which may be more than an int64_t holds: how far from the
/// start its middle lies.
uint64_t middle(uint64_t length, int part, int parts) {
  const double share = static_cast<double>(length) / parts;
  return std::min(static_cast<uint64_t>(share * (part + 0.5)), length - 1);
}

std::string left_padded(const std::string& text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

}  // namespace

std::string picture(const Problem& problem, const Plan& plan, size_t space, PictureSize size) {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  for (const Buffer& buffer : problem.buffers) {
    if (static_cast<size_t>(buffer.space) != space || buffer.size == 0) continue;
    first = std::min(first, buffer.lower);
    last = std::max(last, buffer.upper);
  }
  const int64_t height = plan.spaces[space].height;
  if (first >= last || height == 0) return "(nothing to draw)\n";

  const uint64_t steps = static_cast<uint64_t>(last) - static_cast<uint64_t>(first);
  const int columns = static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(std::max(size.columns, 1)), steps));
  const int rows = static_cast<int>(std::min<int64_t>(std::max(size.rows, 1), height));
  std::vector<std::string> cells(rows, std::string(columns, '.'));
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    if (static_cast<size_t>(buffer.space) != space || buffer.size == 0) continue;
    for (int row = 0; row < rows; ++row) {
      const int64_t byte = static_cast<int64_t>(middle(static_cast<uint64_t>(height), row, rows));
      if (byte < plan.offsets[i] || byte >= plan.offsets[i] + buffer.size) continue;
      for (int column = 0; column < columns; ++column) {
        const int64_t step = static_cast<int64_t>(static_cast<uint64_t>(first) + middle(steps, column, columns));
        if (step < buffer.lower || step >= buffer.upper) continue;
        cells[row][column] = kLetters[i % kLetterCount];
      }
    }
  }

  const size_t margin = std::to_string(height).size();
  std::string out;
  for (int row = rows - 1; row >= 0; --row) {
    const int64_t begin = static_cast<int64_t>(static_cast<double>(height) / rows * row);
    out += left_padded(std::to_string(begin), margin) + " |" + cells[row] + '\n';
  }
  const std::string from = std::to_string(first);
  const std::string to = std::to_string(last);
  out += std::string(margin + 2, ' ') + from;
  out += left_padded(to, std::max(static_cast<size_t>(columns), from.size() + to.size() + 1) - from.size()) + '\n';
  return out;
}

}  // namespace berth::packing
