// RowBlock: nodes that compute each row of a result from the same row of what they read, so that some rows can be
// computed alone. Products, sums of what stretches over rows, means of a row, and views that leave rows as they are.
#pragma once

#include <map>
#include <vector>

#include "compiler/fuse/context.h"

namespace berth::fuse {

/// Contiguous rows: all dimensions before the last two are 1.
struct Rows {
  int64_t count = 0, bytes = 0;  // bytes of one
};

/// `count` is 0 where the tensor is not a known number of such rows.
Rows rows_of(const ir::TensorType& type);

/// A product with a weight: berth::linear, berth::narrow_linear.
bool is_row_product(const ir::Node& node);
ir::ValueId input_of_product(const ir::Node& product);
ir::ValueId residual_of_product(const ir::Node& product);

/// `last` and what only it and others of the block read.
class RowBlock {
 public:
  enum class Products { kAll, kWidening };

  /// Products before the last: all, or those that give wider rows than they read.
  RowBlock(const Context& context, ir::NodeId last, Products products);

  /// Whether there are nodes at all: what the last one gives and reads is rows.
  bool valid() const { return !nodes_.empty(); }
  /// Of the last node's result.
  int64_t rows() const { return count_; }
  /// Of all results of products but the last one's, bytes of a row.
  int64_t wide_bytes() const { return wide_; }
  size_t size() const { return nodes_.size(); }

  /// Appends the nodes for rows [begin, end) alone, with slices of what they read, and returns what the last one gives.
  Expected<ir::ValueId> append(Context& context, ir::Builder& build, int64_t begin, int64_t end) const;

 private:
  void take(ir::NodeId id);
  bool taken(ir::ValueId value) const;
  bool is_cut(ir::ValueId value) const;
  bool is_constant(ir::ValueId value) const;
  bool may_be_cut(const ir::Node& node) const;
  bool reads_rows(const ir::Node& product) const;
  bool is_mean_of_rows(const ir::Node& node) const;
  bool stretches(const ir::Node& node) const;

  const Context& context_;
  ir::NodeId last_;
  Products products_;
  int64_t count_ = 0;
  int64_t wide_ = 0;
  std::vector<ir::NodeId> nodes_;  // each behind what it reads
  std::map<ir::ValueId, int> reads_;
};

}  // namespace berth::fuse
