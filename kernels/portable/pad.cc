#include "kernels/portable/pad.h"

#include <cstring>

#include "kernels/portable/copy_block.h"

namespace berth::portable {
namespace {

// A thread's share.
constexpr int64_t kGrainBytes = 128 * 1024;

// Where element `x` of the padded dimension, counted from the first element of the input, is read; -1: nowhere.
int64_t source_of(int64_t x, int64_t size, PadMode mode) {
  if (x >= 0 && x < size) return x;
  switch (mode) {
    case PadMode::kConstant: return -1;
    case PadMode::kReflect: return x < 0 ? -x : 2 * (size - 1) - x;
    case PadMode::kReplicate: return x < 0 ? 0 : size - 1;
  }
  return -1;
}

// The dimensions in the memory order of out, outermost first; inner ones that are not padded are merged, so that a row
// is as long as it can be.
struct Rows {
  struct Level {
    int64_t size;  // of the input
    int64_t before;
    int64_t padded;  // of the output
    int64_t from;    // stride in bytes
    int64_t to;
  };
  int count = 0;
  Level levels[kMaxRank];
  int64_t bytes = 0;
  PadMode mode = PadMode::kConstant;
  const char* value = nullptr;

  const Level& inner() const { return levels[count - 1]; }
};

void add_level(Rows* rows, const Rows::Level& level) {
  if (rows->count > 0) {
    Rows::Level& outer = rows->levels[rows->count - 1];
    const bool plain = level.before == 0 && level.padded == level.size;
    // Reflected and replicated rows cannot be merged: a run of them is not the mirror image of the run.
    const bool inside = outer.before == 0 && outer.padded == outer.size;
    if (plain && outer.from == level.from * level.size && (rows->mode == PadMode::kConstant || inside)) {
      outer = {outer.size * level.size, outer.before * level.size, outer.padded * level.size, level.from, level.to};
      return;
    }
  }
  rows->levels[rows->count++] = level;
}

Rows make_rows(const Tensor& self, const Padding& padding, PadMode mode, const char* value, const Tensor& out) {
  Rows rows;
  rows.mode = mode;
  rows.value = value;
  rows.bytes = static_cast<int64_t>(element_size(self.dtype()));
  for (const uint8_t d : out.dim_order()) {
    add_level(&rows,
              {self.size(d), padding.before[d], out.size(d), self.stride(d) * rows.bytes, out.stride(d) * rows.bytes});
  }
  if (rows.count == 0) add_level(&rows, {1, 0, 1, rows.bytes, rows.bytes});
  return rows;
}

// Columns [begin, end) of a row that are all outside the input, on one side of it.
void pad_side(const Rows& rows, const char* from, char* to, int64_t begin, int64_t end) {
  const Rows::Level& level = rows.inner();
  if (begin >= end) return;
  char* target = to + begin * level.to;
  if (rows.mode == PadMode::kConstant) return fill_elements(end - begin, rows.bytes, rows.value, target);
  const int64_t first = source_of(begin - level.before, level.size, rows.mode);
  const int64_t step = rows.mode == PadMode::kReflect ? -level.from : 0;
  copy_elements({1, end - begin, 0, step, 0, level.to}, rows.bytes, from + first * level.from, target);
}

// One row of the output; `from` is the first element of the row of the input that belongs to it.
void pad_row(const Rows& rows, const char* from, char* to) {
  const Rows::Level& level = rows.inner();
  const int64_t before = level.before < 0 ? 0 : level.before < level.padded ? level.before : level.padded;
  int64_t end = level.before + level.size;
  end = end < before ? before : end < level.padded ? end : level.padded;
  pad_side(rows, from, to, 0, before);
  const char* first = from + (before - level.before) * level.from;
  const CopyBlock middle{1, end - before, 0, level.from, 0, level.to};
  if (level.from == rows.bytes) {
    copy_rows(middle, rows.bytes, first, to + before * level.to);
  } else {
    copy_elements(middle, rows.bytes, first, to + before * level.to);
  }
  pad_side(rows, from, to, end, level.padded);
}

void pad_rows(const Rows& rows, const char* from, char* to, int64_t begin, int64_t end) {
  const Rows::Level& inner = rows.inner();
  for (int64_t row = begin; row < end; ++row) {
    const char* source = from;
    char* target = to;
    bool outside = false;
    int64_t rest = row;
    for (int i = rows.count - 2; i >= 0; --i) {
      const Rows::Level& level = rows.levels[i];
      const int64_t at = rest % level.padded;
      rest /= level.padded;
      const int64_t read = source_of(at - level.before, level.size, rows.mode);
      outside = outside || read < 0;
      source += read * level.from;
      target += at * level.to;
    }
    if (outside) {
      fill_elements(inner.padded, rows.bytes, rows.value, target);
    } else {
      pad_row(rows, source, target);
    }
  }
}

}  // namespace

Error read_padding(KernelContext& context, const Tensor& self, IntList list, Padding* out) {
  Integers pads;
  BERTH_RETURN_IF_ERROR(read_integers(context, list, &pads));
  if (pads.count % 2 != 0 || pads.count / 2 > self.rank()) {
    return context.fail(Error::kInvalidArgument, "pads must come in pairs, at most one a dimension");
  }
  for (int i = 0; i < pads.count; ++i) {
    if (pads[i] < -INT32_MAX || pads[i] > INT32_MAX) {
      return context.fail(Error::kInvalidArgument, "a pad has more than 31 bits");
    }
    const int dim = self.rank() - 1 - i / 2;
    (i % 2 == 0 ? out->before : out->after)[dim] = pads[i];
  }
  return Error::kOk;
}

Error read_spatial_padding(KernelContext& context, const Tensor& self, IntList list, int spatial, Padding* out) {
  BERTH_RETURN_IF_ERROR(read_padding(context, self, list, out));
  if (list.size() != 2 * static_cast<size_t>(spatial)) {
    return context.fail(Error::kInvalidArgument, "padding must have two entries for each spatial dimension");
  }
  if (self.rank() != spatial + 1 && self.rank() != spatial + 2) {
    return context.fail(Error::kInvalidArgument, "self must have channels, spatial dimensions, and perhaps a batch");
  }
  return Error::kOk;
}

Error padded_sizes(KernelContext& context, const Tensor& self, const Padding& padding, PadMode mode, Sizes* sizes) {
  for (int d = 0; d < self.rank(); ++d) {
    const int64_t size = self.size(d);
    const int64_t before = padding.before[d];
    const int64_t after = padding.after[d];
    if (mode == PadMode::kReflect && (before >= size || after >= size) && (before != 0 || after != 0)) {
      return context.fail(Error::kInvalidArgument, "a reflection pad must be smaller than the dimension");
    }
    if (mode == PadMode::kReplicate && size == 0 && (before != 0 || after != 0)) {
      return context.fail(Error::kInvalidArgument, "a replication pad has nothing to repeat");
    }
    if (!push_size(sizes, size + before + after)) {
      return context.fail(Error::kInvalidArgument, "a padded dimension has a negative size, or 2^31 or more");
    }
  }
  return Error::kOk;
}

Error pad(KernelContext& context, const Tensor& self, const Padding& padding, PadMode mode, const char* value,
          Tensor& out) {
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(padded_sizes(context, self, padding, mode, &sizes));
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes));
  if (out.numel() == 0) return Error::kOk;
  if (self.numel() == 0) {
    fill_elements(out.numel(), static_cast<int64_t>(element_size(out.dtype())), value, out.data<char>());
    return Error::kOk;
  }
  const Rows rows = make_rows(self, padding, mode, value, out);
  const int64_t row_bytes = rows.inner().padded * rows.bytes;
  context.parallel_for(out.numel() / rows.inner().padded, kGrainBytes / row_bytes + 1, [&](int64_t begin, int64_t end) {
    pad_rows(rows, self.data<char>(), out.data<char>(), begin, end);
  });
  return Error::kOk;
}

}  // namespace berth::portable
