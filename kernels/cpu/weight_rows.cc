#include "kernels/cpu/weight_rows.h"

#include <memory>

#include "format/arguments.h"
#include "kernels/cpu/packed_table.h"
#include "kernels/portable/fused_weight_rows.h"
#include "kernels/portable/index_reader.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

// Elements of a thread at least: each has a line of a cache to itself.
constexpr int64_t kGrain = 4096;

}  // namespace

Error weight_rows_prepare(PrepareContext& context, const arguments::weight_rows_out& args, void** state) {
  if (args.packing.size == 0) return Error::kOk;
  auto table = std::make_unique<PackedTable>();
  if (!table->read(args.packing, args.bits, args.form, args.weight.dtype(), args.weight.numel())) {
    return context.fail(Error::kInvalidProgram, "the packing of a weight with rows is not one that this kernel knows");
  }
  if (!context.is_constant(arg::weight_rows_out::weight)) {
    return context.fail(Error::kInvalidProgram, "a packed weight must be a constant");
  }
  *state = table.release();
  return Error::kOk;
}

void weight_rows_release(void* state) { delete static_cast<PackedTable*>(state); }

Error weight_rows_out(KernelContext& context, const arguments::weight_rows_out& args) {
  const auto* table = static_cast<const PackedTable*>(context.state());
  if (table == nullptr) return portable::weight_rows_out(context, args);
  BERTH_RETURN_IF_ERROR(portable::prepare_weight_rows(context, args, table->dtype(), table->width()));
  portable::AllOf in_range;
  const int64_t bytes = table->row_bytes();
  context.parallel_for(args.indices.numel(), kGrain / table->width() + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = portable::row_of_index(args, i, table->rows());
      if (row < 0) return in_range.also(false);
      table->copy_row(args.weight.raw(), row, args.out.data<char>() + i * bytes);
    }
  });
  return in_range ? Error::kOk : portable::index_out_of_range(context);
}

}  // namespace berth::cpu
