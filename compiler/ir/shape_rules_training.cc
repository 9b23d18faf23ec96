// Shape rules of what training needs: gradients, statistics of a batch, dropout.
#include "compiler/ir/shape_args.h"
#include "compiler/ir/shape_rules.h"

namespace berth::ir {

// Results that output_mask does not ask for are empty.
Expected<Types> infer_convolution_backward(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& gradient = args.tensor(0);
  const TensorType& input = args.tensor(1);
  const TensorType& weight = args.tensor(2);
  BERTH_TRY(args.expect_rank(input, 3, 5, "an input"));
  BERTH_TRY(args.expect_rank(gradient, input.rank(), input.rank(), "a gradient"));
  BERTH_TRY(args.expect_rank(weight, input.rank(), input.rank(), "a weight"));
  const BoolList& mask = std::get<BoolList>(args.argument(10));
  if (mask.size() != 3) {
    return args.fail("expected an 'output_mask' of 3 entries, found " + std::to_string(mask.size()));
  }
  const Shape shapes[] = {input.shape, weight.shape, {gradient.shape[1]}};
  Types types;
  for (size_t i = 0; i < 3; ++i) types.push_back(args.type(input.dtype, mask[i] ? shapes[i] : Shape{Dim(0)}));
  return types;
}

Expected<Types> infer_max_pool2d_backward(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& self = args.tensor(1);
  BERTH_TRY(args.expect_rank(self, 3, 4, "an input"));
  BERTH_TRY(args.expect_rank(args.tensor(0), self.rank(), self.rank(), "a gradient"));
  return args.one(self.dtype, self.shape);
}

// It changes its running statistics, so that it stands in program files alone.
Expected<Types> infer_batch_norm_legit(const ShapeQuery& query) {
  return ShapeArgs(query).fail(Error::kNotSupported,
                               "values never change; use _native_batch_norm_legit_no_training, or the variant no_stats "
                               "and new values for the running statistics");
}

Expected<Types> infer_batch_norm_no_stats(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(0);
  BERTH_TRY(args.expect_rank(input, 2, kMaxRank, "an input"));
  if (!args.truth(3)) return args.fail("expected 'training', for there are no running statistics");
  for (size_t i = 1; i < 3; ++i) {
    const TensorType* affine = args.optional_tensor(i);
    if (affine == nullptr) continue;
    BERTH_TRY(args.expect_rank(*affine, 1, 1, "a tensor a channel"));
    BERTH_TRY(args.same_size(affine->shape[0], input.shape[1], "numbers of channels"));
  }
  const TensorType statistics = args.type(input.dtype, {input.shape[1]});
  return Types{args.elementwise(input.dtype, input.shape, {&input}), statistics, statistics};
}

Expected<Types> infer_dropout(const ShapeQuery& query) {
  const ShapeArgs args(query);
  const TensorType& input = args.tensor(0);
  return Types{args.elementwise(input.dtype, input.shape, {&input}),
               args.elementwise(DType::kBool, input.shape, {&input})};
}

}  // namespace berth::ir
