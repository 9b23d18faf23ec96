// What exporters write around the scores of attention: numbers that scale them, masks that are added, and a guard for
// rows that see nothing. What fuse_attention and fuse_grouped_attention both read.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "compiler/fuse/context.h"

namespace berth::fuse {

/// A product with a number, or a quotient by one.
struct Scaled {
  ir::ValueId from;
  double factor = 1;
};

/// Empty where `node` is neither.
std::optional<Scaled> read_scaled(const Context& context, const ir::Node& node);

/// Which argument of a sum are scores, a product of matrices that is scaled perhaps, and to which another mask may have
/// been added: 0 or 1. The other is their mask. Empty where neither is.
std::optional<size_t> scores_of_sum(const Context& context, const ir::Node& sum);

/// What `node` gives with its last two dimensions exchanged and the others where they are: an argument of it. Invalid
/// where `node` is something else.
ir::ValueId exchanged_rows(const Context& context, const ir::Node& node);

/// Of a key that a query does not see.
inline constexpr double kHiddenScore = -std::numeric_limits<double>::infinity();

/// What scores are: [batch, heads, queries, keys].
struct ScoreSizes {
  ir::Dim batch = 1, heads = 1, queries = 1, keys = 1;
};

/// Whether `mask` stretches to scores of this shape, to which it is added, as it does to `sizes`: either that is how
/// they are grouped, or all heads have one mask.
bool stretches_to_heads(const Context& context, const ScoreSizes& sizes, const std::vector<ir::Dim>& shape,
                        ir::ValueId mask);

/// The same for scores of these sizes whose batch has several dimensions, such as [images, windows, heads, queries,
/// keys]: the mask's shape as [batch or 1, heads or 1, queries or 1, keys or 1], row-major. Empty where it does not
/// stretch so.
std::vector<ir::Dim> shape_over_heads(const Context& context, const ScoreSizes& sizes,
                                      const std::vector<ir::Dim>& shape, ir::ValueId mask);

/// where(isnan(softmax), 0, softmax): rows of nothing but -inf give zeros, as torch.onnx writes it. The softmax, or
/// null where `node` is something else.
const ir::Node* softmax_of_nan_guard(const Context& context, const ir::Node& node);

/// The same of where(amax(scores) == -inf, 0, softmax(scores)), as importers write PyTorch's safe softmax.
const ir::Node* softmax_of_amax_guard(const Context& context, const ir::Node& node);

}  // namespace berth::fuse
