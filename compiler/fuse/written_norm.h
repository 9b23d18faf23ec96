// What norms that a model writes out have in common: means over one dimension, roots, constants of one number for each
// index of that dimension.
//
// Such a norm is over the innermost dimension, or over the channels of an image, whose pixels are rows once the
// channels are innermost.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

/// What makes `value`, which `readers` arguments read, if it is one of these operators; null otherwise.
const ir::Node* only_maker(const Context& context, ir::ValueId value, ir::OpId op, int readers = 1);

/// What one view makes `value` of, or `value` itself.
ir::ValueId under_view(const Context& context, ir::ValueId value);

/// The one dimension that `dims`, of a tensor of this rank, names; -1 when it is not one.
int64_t only_dim(const ir::Argument& dims, int64_t rank);

/// The argument of a mean over dimension `dim` that one argument reads; invalid when `mean` is not that.
ir::ValueId argument_of_mean(const Context& context, ir::ValueId mean, int64_t dim);

/// Whether `squares` is value * value, and how many arguments read `value` in it.
bool is_square(const Context& context, ir::ValueId squares, ir::ValueId value, int* readers);

/// What `value` is sqrt(that + *eps) of, or, where `inverse`, one divided by it; invalid when it is not that.
ir::ValueId under_root(const Context& context, ir::ValueId value, bool inverse, double* eps);

/// The dimension that a norm of `x`, f32 in row-major order, is over when its statistics have the sizes `statistics`:
/// the last one, or the second one of four; -1 for all others.
int64_t dim_of_norm(const Context& context, ir::ValueId x, const std::vector<ir::Dim>& statistics);

/// `x` with dimension `dim` innermost, as dim_of_norm() says it.
Expected<ir::ValueId> rows_of_norm(Context& context, ir::Builder& build, ir::ValueId x, int64_t dim,
                                   const std::string& source);

/// The operator `op` in the place of node `id`, which the log calls `what`; where `of_images`, its result's rows are
/// pixels of an image, and the channels become its second dimension again.
Expected<passes::Action> replace_by_norm(Context& context, ir::Builder& build, ir::NodeId id, ir::OpId op,
                                         std::vector<ir::Argument> args, bool of_images, const char* what);

/// What makes the norm that `value` is and one argument reads, if it is the operator `op` and none of its other results
/// is read; whether it is of an image's pixels, whose channels were brought to the second dimension.
struct MadeNorm {
  const ir::Node* node = nullptr;
  bool of_images = false;
};
MadeNorm made_norm(const Context& context, ir::ValueId value, ir::OpId op);

/// A constant of one f32 for each index of dimension `dim` of tensors of the sizes `shape`, which it stretches to, as
/// [size]; invalid for others.
ir::ValueId along_dim(Context& context, ir::Builder& build, const ir::Argument& argument,
                      const std::vector<ir::Dim>& shape, int64_t dim);

}  // namespace berth::fuse
