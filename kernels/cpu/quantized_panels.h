// Products of rows of the input with panels of a weight, and what becomes of their sums: by a processor's matrices, by
// tiles of bytes or of widened ones, or, where the columns are few, by registers that hold numbers of the depth.
#pragma once

#include "kernels/cpu/quantized_columns.h"
#include "kernels/cpu/quantized_matrix.h"
#include "kernels/cpu/quantized_run.h"

namespace berth::cpu {

/// Lines of as many rows each: pixels of a convolution, or just rows, which are one line. Of each row, runs of the
/// depth.
struct QuantizedLinesOfRows {
  int64_t first = 0;             // row, counted over the whole result; the others follow
  int64_t lines = 1, count = 0;  // rows of each
  // What a line sees: `down` pointers, `apart` from each other; of each, runs that begin run_step bytes after each
  // other. Those of the next line are line_step pointers further on.
  const uint8_t* const* a = nullptr;
  int64_t down = 1, apart = 1, runs = 1, run_step = 0, quads = 0, line_step = 0;
  int64_t offset = 0;  // from where a pointer points
  int64_t step = 0;    // bytes from row to row
  const int32_t* totals = nullptr;

  int64_t all_runs() const { return down * runs; }
  /// Sets where the runs of a row begin.
  void point(int64_t line, int64_t row, const uint8_t** to) const {
    for (int64_t i = 0; i < down; ++i) {
      const uint8_t* const from = a[line * line_step + i * apart] + offset + row * step;
      for (int64_t run = 0; run < runs; ++run) *to++ = from + run * run_step;
    }
  }
};

class QuantizedPanels {
 public:
  /// Both must stay.
  QuantizedPanels(const QuantizedJob& job, const QuantizedFinish& finish);

  /// Panels [begin, end) of a group, of these rows.
  void run(MatrixRegisters* registers, const QuantizedLinesOfRows& rows, int64_t group, int64_t begin,
           int64_t end) const;

 private:
  void run_blocks(MatrixRegisters* registers, const QuantizedLinesOfRows& rows, int64_t group, int64_t begin,
                  int64_t end) const;
  void run_words(const QuantizedLinesOfRows& rows, int64_t group, int64_t begin, int64_t end) const;
  bool are_few(const QuantizedLinesOfRows& rows) const;
  void run_few(const QuantizedLinesOfRows& rows, int64_t group) const;
  int64_t panels_at_once(int64_t left, int64_t rows) const;
  void run_tiles(const QuantizedLinesOfRows& rows, int64_t line, int64_t group, int64_t panel, int64_t panels) const;
  void finish(const QuantizedLinesOfRows& rows, int64_t begin, int64_t count, int64_t group, int64_t panel,
              int64_t panels, const int32_t* sums) const;

  const QuantizedJob& job_;
  const QuantizedLayout& layout_;
  const QuantizedFunctions& functions_;
  const QuantizedFinish& finish_;
  QuantizedPlaces places_;
  int64_t panels_, panel_bytes_;  // of a group: divisions take as long as a small tile
  bool usual_;
};

}  // namespace berth::cpu
