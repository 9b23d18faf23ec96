#include "compiler/import/lowering/batch_statistics.h"

namespace berth::lowering {

BatchStatistics batch_statistics(Lowering& n, ValueId x, double epsilon) {
  BatchStatistics batch;
  const int rank = n.rank(x);
  if (n.ok() && rank < 2) n.invalid("needs [N, C, …], found " + n.type_text(x));
  if (!n.ok()) return batch;
  DimList axes{Dim(0)};
  batch.channels.assign(rank, Dim(1));
  batch.channels[1] = n.dim(x, 1);
  for (int axis = 2; axis < rank; ++axis) axes.emplace_back(axis);
  const std::vector<ValueId> moments = n.ops(OpId::var_mean_correction_out, {x, axes, Dim(0), true});
  if (!n.ok()) return batch;
  batch.variance = moments[0];
  batch.mean = moments[1];
  batch.scale = n.op(OpId::rsqrt_out, {n.op(OpId::add_Scalar_out, {batch.variance, epsilon})});
  batch.normal = n.op(OpId::mul_out, {n.op(OpId::sub_out, {x, batch.mean}), batch.scale});
  return batch;
}

}  // namespace berth::lowering
