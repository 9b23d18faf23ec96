#include "kernels/cpu/quantized_run.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/math.h"
#include "kernels/cpu/quantized_columns.h"
#include "kernels/cpu/quantized_depthwise.h"
#include "kernels/cpu/quantized_gather.h"
#include "kernels/cpu/quantized_image.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::cpu {
namespace {

using portable::Convolution;
using portable::QuantizedProduct;

// Rows that a thread takes at a time, and what they may take of a second-level cache.
constexpr int64_t kBlockRows = 4 * kMaxTileHeight;
constexpr int64_t kBlockBytes = 256 * 1024;
// Tiles whose sums are finished together, where that is done in registers.
constexpr int64_t kStrips = 4;
// Items of work for each thread, so that one that is late does not hold up the others.
constexpr int64_t kItemsPerThread = 3;

// Whether the input's rows lie as the tiles read them.
bool is_direct(const QuantizedJob& job) {
  if (job.layout->padded_rows) return false;
  if (job.convolution == nullptr) return job.layout->depth % kQuad == 0;
  const Convolution& c = *job.convolution;
  for (const Convolution::Axis& axis : c.axis) {
    if (axis.kernel != 1 || axis.stride != 1 || axis.padding != 0) return false;
  }
  return job.layout->depth % kQuad == 0 && is_channels_last(*job.input);
}

int64_t rows_of(const QuantizedJob& job) {
  if (job.convolution == nullptr) {
    return job.layout->depth == 0 ? 0 : job.input->numel() / job.layout->depth;
  }
  const Convolution& c = *job.convolution;
  return c.batch * c.axis[0].out * c.axis[1].out * c.axis[2].out;
}

int64_t most_rows(const QuantizedLayout& layout) {
  const int64_t row = std::max<int64_t>(1, layout.quads() * kQuad);
  return std::clamp<int64_t>(kBlockBytes / row / kMaxTileHeight * kMaxTileHeight, kMaxTileHeight, kBlockRows);
}

// The memory of one thread: copied rows or lines, and the total of each row.
struct Slot {
  uint8_t* rows = nullptr;
  int32_t* totals = nullptr;

  static size_t row_bytes(const QuantizedJob& job, int64_t rows) {
    if (is_direct(job)) return 0;
    const int64_t copied = align_up<int64_t>(rows * job.layout->quads() * kQuad + kGatherSlack, 64);
    if (!QuantizedImage::fits(job)) return copied;
    return std::max<int64_t>(copied, align_up<int64_t>(QuantizedImage(job).bytes(), 64));
  }
  static size_t bytes(const QuantizedJob& job, int64_t rows) {
    const int64_t block = std::min(rows, most_rows(*job.layout));
    return row_bytes(job, block) + align_up<int64_t>(block * static_cast<int64_t>(sizeof(int32_t)), 64);
  }
};

class Run {
 public:
  Run(const QuantizedJob& job, const QuantizedFinish& finish)
      : job_(job),
        layout_(*job.layout),
        product_(*job.product),
        functions_(*job.functions),
        finish_(finish),
        places_(job),
        rows_(rows_of(job)),
        panels_(job.layout->panels()),
        panel_bytes_(job.layout->panel_bytes()),
        strips_at_once_(is_usual(finish) ? kStrips : 1),
        direct_(is_direct(job)) {
    if (!direct_ && finish.zeros == nullptr && QuantizedImage::fits(job)) image_.emplace(job);
  }

  void cut(int slots) {
    if (image_) {
      row_blocks_ = job_.convolution->batch * ceil_div(job_.convolution->axis[1].out, image_->lines_at_once());
    } else {
      block_rows_ = std::min(rows_, most_rows(layout_));
      row_blocks_ = ceil_div(rows_, block_rows_);
      block_rows_ = ceil_div(rows_, row_blocks_);
    }
    // Groups share the lines that are brought for them.
    if (image_) block_groups_ = layout_.groups;
    const int64_t items = row_blocks_ * group_blocks();
    const int64_t wanted = slots == 1 ? 1 : ceil_div(kItemsPerThread * slots, items);
    if (block_groups_ > 1) {
      block_groups_ = ceil_div(layout_.groups, std::min(layout_.groups, wanted));
      block_panels_ = panels_;
    } else {
      const int64_t pairs = ceil_div<int64_t>(panels_, 2);
      block_panels_ = 2 * ceil_div(pairs, std::min(pairs, wanted));
    }
    column_blocks_ = ceil_div(panels_, block_panels_);
  }
  int64_t items() const { return group_blocks() * row_blocks_ * column_blocks_; }
  int64_t rows() const { return rows_; }

  void run_item(const Slot& slot, int64_t item) const {
    const int64_t column_block = item % column_blocks_;
    const int64_t group = item / column_blocks_ % group_blocks() * block_groups_;
    const int64_t row_block = item / column_blocks_ / group_blocks();
    const int64_t begin = column_block * block_panels_;
    const int64_t end = std::min(begin + block_panels_, panels_);
    if (image_) return run_lines(slot, row_block, group, begin, end);
    Rows rows;
    rows.first = row_block * block_rows_;
    rows.count = std::min(block_rows_, rows_ - rows.first);
    if (rows.count <= 0) return;
    const uint8_t* const from = bring_rows(slot, group, &rows);
    rows.a = &from;
    for (int64_t panel = begin; panel < end;) {
      const int64_t taken = panels_at_once(end - panel, rows.count);
      run_panels(rows, group, panel, taken);
      panel += taken;
    }
  }

 private:
  // Some rows of the input: of each, runs of the depth.
  struct Rows {
    int64_t first = 0, count = 0;
    // Lines, `apart` pointers from each other; of each, runs that begin `run_step` bytes after each other.
    const uint8_t* const* a = nullptr;
    int64_t lines = 1, apart = 1, runs = 1, run_step = 0, quads = 0;
    int64_t offset = 0;  // from where a line begins
    int64_t step = 0;
    const int32_t* totals = nullptr;
  };

  int64_t group_blocks() const { return ceil_div(layout_.groups, block_groups_); }

  void run_lines(const Slot& slot, int64_t block, int64_t group, int64_t begin, int64_t end) const {
    const Convolution::Axis &down = job_.convolution->axis[1], &across = job_.convolution->axis[2];
    const int64_t most = image_->lines_at_once();
    const int64_t blocks = ceil_div(down.out, most);
    const int64_t y = block % blocks * most;
    const int64_t first = block / blocks * down.out + y, count = std::min(most, down.out - y);
    const uint8_t* const* const lines =
        image_->bring(job_, first, count, static_cast<uint8_t>(product_.input_zero[0]), slot.rows);
    Rows rows;
    rows.count = across.out;
    rows.lines = image_->rows();
    rows.apart = image_->dilation();
    rows.runs = image_->runs_of_row();
    rows.run_step = image_->run_step();
    rows.quads = image_->run_bytes() / kQuad;
    rows.step = image_->step();
    for (int64_t last = std::min(group + block_groups_, layout_.groups); group < last; ++group) {
      rows.offset = group * image_->group_bytes();
      for (int64_t panel = begin; panel < end;) {
        const int64_t taken = panels_at_once(end - panel, rows.count);
        for (int64_t i = 0; i < count; ++i) {
          rows.first = (first + i) * across.out;
          rows.a = lines + i * image_->stride();
          run_panels(rows, group, panel, taken);
        }
        panel += taken;
      }
    }
  }

  // Returns where they begin.
  const uint8_t* bring_rows(const Slot& slot, int64_t group, Rows* rows) const {
    const int64_t depth = layout_.depth;
    const auto* input = job_.input->data<uint8_t>();
    const uint8_t* a = slot.rows;
    rows->quads = layout_.quads();
    if (direct_) {
      rows->step = layout_.groups * depth;
      a = input + rows->first * rows->step + group * depth;
    } else {
      rows->step = layout_.quads() * kQuad;
      if (job_.convolution == nullptr) {
        for (int64_t i = 0; i < rows->count; ++i) {
          uint8_t* to = slot.rows + i * rows->step;
          std::memcpy(to, input + (rows->first + i) * depth, depth);
          std::memset(to + depth, 0, rows->step - depth);
        }
      } else {
        const int64_t channels = layout_.channels();
        gather_windows(*job_.convolution, group * channels, channels, rows->first, rows->count,
                       static_cast<uint8_t>(product_.input_zero[0]), slot.rows, layout_.window_row(), rows->step);
      }
    }
    if (finish_.zeros == nullptr) return a;
    rows->totals = slot.totals;
    for (int64_t i = 0; i < rows->count; ++i) {
      const auto total = static_cast<uint32_t>(functions_.total(a + i * rows->step, depth, flip_of(product_)));
      const int32_t zero = product_.input_zero[job_.convolution == nullptr ? rows->first + i : 0] + finish_.input_shift;
      slot.totals[i] = static_cast<int32_t>(total - static_cast<uint32_t>(depth) * static_cast<uint32_t>(zero));
    }
    return a;
  }

  // How many of `left` panels a tile takes. Wide ones read each row of the input once for more columns, and are for few
  // rows.
  int64_t panels_at_once(int64_t left, int64_t rows) const {
    if (left >= 4 && rows <= functions_.max_rows[4]) return 4;
    return left >= 2 && functions_.max_rows[2] > 0 ? 2 : 1;
  }

  void run_panels(const Rows& rows, int64_t group, int64_t panel, int64_t panels) const {
    const int64_t strips = ceil_div<int64_t>(rows.count, functions_.max_rows[panels]);
    alignas(64) int32_t sums[kStrips * kMaxTileHeight * kMaxTilePanels * kPanelColumns];
    const uint8_t* a[QuantizedImage::kMostRuns];
    QuantizedTile tile;
    tile.a = a;
    tile.runs = rows.lines * rows.runs;
    tile.quads = rows.quads;
    tile.a_step = rows.step;
    tile.flip = flip_of(product_);
    tile.b = reinterpret_cast<const int8_t*>(job_.packed) + (group * panels_ + panel) * panel_bytes_;
    tile.panel_step = panel_bytes_;
    tile.ahead = panels * panel_bytes_;
    const int64_t least = rows.count / strips, longer = rows.count % strips;
    for (int64_t strip = 0, begin = 0, end = 0; strip < strips; begin = end) {
      // What all rows of a call have in common takes as long as some of them.
      for (int64_t last = std::min(strips, strip + strips_at_once_); strip < last; ++strip) {
        const uint8_t** next = a;
        for (int64_t line = 0; line < rows.lines; ++line) {
          const uint8_t* const from = rows.a[line * rows.apart] + rows.offset + end * rows.step;
          for (int64_t run = 0; run < rows.runs; ++run) *next++ = from + run * rows.run_step;
        }
        tile.sums = sums + (end - begin) * panels * kPanelColumns;
        const int64_t height = least + (strip < longer ? 1 : 0);
        functions_.tile[panels][height](tile);
        end += height;
      }
      finish(rows, begin, end - begin, group, panel, panels, sums);
    }
  }

  void finish(const Rows& rows, int64_t begin, int64_t count, int64_t group, int64_t panel, int64_t panels,
              const int32_t* sums) const {
    QuantizedRows part;
    part.sums = sums;
    part.sums_row = panels * kPanelColumns;
    part.column = (group * panels_ + panel) * kPanelColumns;
    part.count = std::min(panels * kPanelColumns, layout_.columns - panel * kPanelColumns);
    part.totals = rows.totals == nullptr ? nullptr : rows.totals + begin;
    places_.finish(functions_, finish_, &part, rows.first + begin, count,
                   group * layout_.columns + panel * kPanelColumns);
  }

  const QuantizedJob& job_;
  const QuantizedLayout& layout_;
  const QuantizedProduct& product_;
  const QuantizedFunctions& functions_;
  const QuantizedFinish& finish_;
  QuantizedPlaces places_;
  int64_t rows_;
  int64_t panels_, panel_bytes_;  // of a group: divisions take as long as a small tile
  int64_t strips_at_once_;
  bool direct_;
  std::optional<QuantizedImage> image_;
  int64_t block_rows_ = 1, row_blocks_ = 1, block_groups_ = 1, block_panels_ = 1, column_blocks_ = 1;
};

int most_slots(int threads) { return std::clamp(threads, 1, portable::kMaxSlots); }

}  // namespace

size_t most_quantized_temp_bytes(const QuantizedLayout& layout, int64_t rows, int threads) {
  const int64_t most = std::min(rows, kBlockRows), row = layout.quads() * kQuad;
  // Blocks have fewer rows where those are deep: what a smaller depth takes may be more.
  const int64_t copied = std::min(most * row, std::max(kBlockBytes, kMaxTileHeight * row));
  const int64_t slot = align_up<int64_t>(copied + kGatherSlack, 64) +
                       align_up<int64_t>(most * static_cast<int64_t>(sizeof(int32_t)), 64);
  return QuantizedColumns::bytes(layout) + portable::kTempPadding + most_slots(threads) * slot + portable::kTempPadding;
}

size_t quantized_temp_bytes(const QuantizedJob& job, int threads) {
  const size_t columns = QuantizedColumns::bytes(*job.layout) + portable::kTempPadding;
  if (job.layout->depthwise) return columns + depthwise_temp_bytes(job) + portable::kTempPadding;
  return columns + most_slots(threads) * Slot::bytes(job, rows_of(job)) + portable::kTempPadding;
}

Error run_quantized(KernelContext& context, const QuantizedJob& job) {
  void* columns_memory = context.allocate_temp(QuantizedColumns::bytes(*job.layout));
  if (columns_memory == nullptr) return Error::kMemoryAllocationFailed;
  const QuantizedColumns columns(job, columns_memory);
  if (job.layout->depthwise) return run_depthwise(context, job, columns.finish());
  const size_t slot_bytes = Slot::bytes(job, rows_of(job));
  void* slots_memory = context.allocate_temp(most_slots(context.threads()) * slot_bytes);
  if (slots_memory == nullptr) return Error::kMemoryAllocationFailed;
  Run run(job, columns.finish());
  const double work = quantized_work(*job.layout, run.rows());
  const int slots = portable::slots_for(context.threads(), INT64_MAX, work, kQuantizedSerialWork);
  run.cut(slots);
  const size_t row_bytes = Slot::row_bytes(job, std::min(run.rows(), most_rows(*job.layout)));
  portable::for_each_item(
      context, slots, run.items(), [&](const Slot& slot, int64_t item) { run.run_item(slot, item); },
      [&](int64_t slot) {
        auto* bytes = static_cast<uint8_t*>(slots_memory) + slot * slot_bytes;
        return Slot{bytes, reinterpret_cast<int32_t*>(bytes + row_bytes)};
      });
  return Error::kOk;
}

}  // namespace berth::cpu
