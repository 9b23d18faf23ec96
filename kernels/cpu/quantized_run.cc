#include "kernels/cpu/quantized_run.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/math.h"
#include "kernels/cpu/even_share.h"
#include "kernels/cpu/quantized_columns.h"
#include "kernels/cpu/quantized_depthwise.h"
#include "kernels/cpu/quantized_gather.h"
#include "kernels/cpu/quantized_image.h"
#include "kernels/cpu/quantized_panels.h"
#include "kernels/cpu/quantized_winograd.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::cpu {
namespace {

using portable::Convolution;

// Rows that a thread takes at a time, and what they may take of a second-level cache.
constexpr int64_t kBlockRows = 4 * kMaxTileHeight;
constexpr int64_t kBlockBytes = 256 * 1024;
// The same where matrices are multiplied: half of a first-level cache for the rows, the weights stream by.
constexpr int64_t kMostMatrixRows = 8 * kMatrixRows;
constexpr int64_t kMatrixBytes = 24 * 1024;
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

// The memory of one thread: copied rows or lines, and the total of each row. And its registers.
struct Slot {
  uint8_t* rows = nullptr;
  int32_t* totals = nullptr;
  MatrixRegisters registers;

  static size_t row_bytes(const QuantizedJob& job, int64_t rows) {
    if (is_direct(job)) return 0;
    const int64_t copied = align_up<int64_t>(rows * job.layout->quads() * kQuad + kGatherSlack, 64);
    int64_t bytes = copied;
    for (const bool matrix : {false, true}) {
      if (!QuantizedImage::fits(job, matrix)) continue;
      bytes = std::max<int64_t>(bytes, align_up<int64_t>(QuantizedImage(job, matrix).bytes(), 64));
    }
    return bytes;
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
        finish_(finish),
        panels_of_(job, finish),
        rows_(rows_of(job)),
        panels_(job.layout->panels()),
        direct_(is_direct(job)) {
    const bool matrix = job.matrix != nullptr;
    if (!direct_ && finish.zeros == nullptr && QuantizedImage::fits(job, matrix)) image_.emplace(job, matrix);
  }

  void cut(int slots) {
    if (image_) {
      row_blocks_ = job_.convolution->batch * ceil_div(job_.convolution->axis[1].out, image_->lines_at_once());
    } else {
      block_rows_ = std::min(rows_, most_block_rows());
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
      block_panels_ = 2 * parts_of_item(ceil_div<int64_t>(panels_, 2), items, slots, wanted, 2 * wanted);
    }
    column_blocks_ = ceil_div(panels_, block_panels_);
  }
  int64_t items() const { return group_blocks() * row_blocks_ * column_blocks_; }
  int64_t rows() const { return rows_; }

  void run_item(Slot& slot, int64_t item) const {
    const int64_t column_block = item % column_blocks_;
    const int64_t group = item / column_blocks_ % group_blocks() * block_groups_;
    const int64_t row_block = item / column_blocks_ / group_blocks();
    const int64_t begin = column_block * block_panels_;
    const int64_t end = std::min(begin + block_panels_, panels_);
    if (image_) return run_lines(slot, row_block, group, begin, end);
    QuantizedLinesOfRows rows;
    rows.first = row_block * block_rows_;
    rows.count = std::min(block_rows_, rows_ - rows.first);
    if (rows.count <= 0) return;
    const uint8_t* const from = bring_rows(slot, group, &rows);
    rows.a = &from;
    panels_of_.run(&slot.registers, rows, group, begin, end);
  }

 private:
  int64_t most_block_rows() const {
    const int64_t most = most_rows(layout_);
    const bool has_memory = direct_ && finish_.zeros == nullptr;  // needs none
    // As many as share a widened weight, and only those.
    if (job_.matrix == nullptr) return has_memory && job_.functions->words != nullptr ? kWordRows : most;
    const int64_t two = 2 * kMatrixRows, row = layout_.quads() * kQuad;
    int64_t wanted = rows_;
    if (rows_ > kMatrixTiles * kMatrixRows) {
      wanted = std::clamp<int64_t>(kMatrixBytes / row / two * two, two, kMostMatrixRows);
    }
    return has_memory ? wanted : std::min(wanted, most);
  }

  int64_t group_blocks() const { return ceil_div(layout_.groups, block_groups_); }

  void run_lines(Slot& slot, int64_t block, int64_t group, int64_t begin, int64_t end) const {
    const Convolution::Axis &down = job_.convolution->axis[1], &across = job_.convolution->axis[2];
    const int64_t most = image_->lines_at_once();
    const int64_t blocks = ceil_div(down.out, most);
    const int64_t y = block % blocks * most;
    const int64_t first = block / blocks * down.out + y, count = std::min(most, down.out - y);
    QuantizedLinesOfRows rows;
    rows.first = first * across.out;
    rows.lines = count;
    rows.count = across.out;
    rows.a = image_->bring(job_, first, count, static_cast<uint8_t>(job_.product->input_zero[0]), slot.rows);
    rows.down = image_->rows();
    rows.apart = image_->dilation();
    rows.runs = image_->runs_of_row();
    rows.run_step = image_->run_step();
    rows.quads = image_->run_bytes() / kQuad;
    rows.line_step = image_->stride();
    rows.step = image_->step();
    for (int64_t last = std::min(group + block_groups_, layout_.groups); group < last; ++group) {
      rows.offset = group * image_->group_bytes();
      panels_of_.run(&slot.registers, rows, group, begin, end);
    }
  }

  // Returns where they begin.
  const uint8_t* bring_rows(const Slot& slot, int64_t group, QuantizedLinesOfRows* rows) const {
    const int64_t depth = layout_.depth;
    const portable::QuantizedProduct& product = *job_.product;
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
                       static_cast<uint8_t>(product.input_zero[0]), slot.rows, layout_.window_row(), rows->step);
      }
    }
    if (finish_.zeros == nullptr) return a;
    rows->totals = slot.totals;
    const int32_t shift = product.signed_input ? 128 : 0;  // of what is summed here
    for (int64_t i = 0; i < rows->count; ++i) {
      const auto total = static_cast<uint32_t>(job_.functions->total(a + i * rows->step, depth, flip_of(product)));
      const int32_t zero = product.input_zero[job_.convolution == nullptr ? rows->first + i : 0] + shift;
      slot.totals[i] = static_cast<int32_t>(total - static_cast<uint32_t>(depth) * static_cast<uint32_t>(zero));
    }
    return a;
  }

  const QuantizedJob& job_;
  const QuantizedLayout& layout_;
  const QuantizedFinish& finish_;
  QuantizedPanels panels_of_;
  int64_t rows_;
  int64_t panels_;  // of a group
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
  const size_t slot = std::max(Slot::bytes(job, rows_of(job)), QuantizedWinograd::thread_bytes(job));
  return columns + most_slots(threads) * slot + portable::kTempPadding;
}

namespace {

// Whether it was done so; not without its memory.
bool run_winograd(KernelContext& context, const QuantizedJob& job, const QuantizedFinish& finish) {
  const QuantizedWinogradWords* const matrices = finish.zeros == nullptr ? QuantizedWinograd::choose(job) : nullptr;
  if (matrices == nullptr) return false;
  const size_t bytes = QuantizedWinograd::thread_bytes(job);
  auto* const memory = static_cast<uint8_t*>(context.allocate_temp(most_slots(context.threads()) * bytes));
  if (memory == nullptr) return false;
  QuantizedWinograd winograd(job, finish, *matrices);
  const double work = quantized_work(*job.layout, rows_of(job));
  const int slots = portable::slots_for(context.threads(), INT64_MAX, work, kQuantizedSerialWork);
  winograd.cut(slots);
  portable::for_each_item(
      context, slots, winograd.items(), [&](uint8_t* slot, int64_t item) { winograd.run_item(item, slot); },
      [&](int64_t slot) { return memory + slot * static_cast<int64_t>(bytes); });
  return true;
}

}  // namespace

Error run_quantized(KernelContext& context, const QuantizedJob& given) {
  QuantizedJob job = given;
  job.matrix = job.layout->depthwise ? nullptr : job.functions->matrix;
  void* columns_memory = context.allocate_temp(QuantizedColumns::bytes(*job.layout));
  if (columns_memory == nullptr) return Error::kMemoryAllocationFailed;
  const QuantizedColumns columns(job, columns_memory);
  if (job.layout->depthwise) return run_depthwise(context, job, columns.finish());
  if (run_winograd(context, job, columns.finish())) return Error::kOk;
  const size_t slot_bytes = Slot::bytes(job, rows_of(job));
  void* slots_memory = context.allocate_temp(most_slots(context.threads()) * slot_bytes);
  if (slots_memory == nullptr) return Error::kMemoryAllocationFailed;
  Run run(job, columns.finish());
  const double work = quantized_work(*job.layout, run.rows());
  const int slots = portable::slots_for(context.threads(), INT64_MAX, work, kQuantizedSerialWork);
  run.cut(slots);
  const size_t row_bytes = Slot::row_bytes(job, std::min(run.rows(), most_rows(*job.layout)));
  portable::for_each_item(
      context, slots, run.items(), [&](Slot& slot, int64_t item) { run.run_item(slot, item); },
      [&](int64_t slot) {
        auto* bytes = static_cast<uint8_t*>(slots_memory) + slot * slot_bytes;
        return Slot{bytes, reinterpret_cast<int32_t*>(bytes + row_bytes), MatrixRegisters(job.matrix)};
      });
  return Error::kOk;
}

}  // namespace berth::cpu
