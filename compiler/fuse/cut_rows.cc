#include "compiler/fuse/cut_rows.h"

#include <algorithm>

#include "base/math.h"
#include "compiler/fuse/row_block.h"

namespace berth::fuse {
namespace {

using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// Wide tensors of more than kWholeBytes are cut into strips of about kStripBytes.
constexpr int64_t kWholeBytes = 6 << 20;
constexpr int64_t kStripBytes = 4 << 20;
// With fewer rows a strip's products do not hide that it reads the weights again.
constexpr int64_t kFewestRows = 48;

// Whether a product gives narrower rows than it reads.
bool narrows(const Context& context, const Node& node) {
  return is_row_product(node) &&
         rows_of(context.type(input_of_product(node))).bytes > rows_of(context.type(node.results[0])).bytes;
}

Expected<passes::Action> cut_block(Context& context, ir::Builder& build, NodeId id) {
  if (!takes_bytes(context.target(id)) || !narrows(context, context.node(id))) return passes::Action::keep();
  const RowBlock block(context, id, RowBlock::Products::kWidening);
  if (!block.valid() || block.rows() * block.wide_bytes() <= kWholeBytes) return passes::Action::keep();
  const int64_t most = std::max(kFewestRows, kStripBytes / block.wide_bytes());
  const int64_t strips = ceil_div(block.rows(), most);
  if (strips < 2) return passes::Action::keep();
  const std::string source = context.node(id).source;
  ir::ValueList parts;
  for (int64_t i = 0; i < strips; ++i) {
    BERTH_ASSIGN_OR_RETURN(const ValueId part,
                           block.append(context, build, block.rows() * i / strips, block.rows() * (i + 1) / strips));
    parts.push_back(part);
  }
  const ir::Dim dim(static_cast<int64_t>(context.type(parts[0]).rank()) - 2);
  BERTH_ASSIGN_OR_RETURN(const ValueId whole, build.one(OpId::cat_out, {parts, dim}, source));
  return context.replace(id, whole);
}

}  // namespace

Expected<passes::Changed> cut_rows(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] { return Visit(cut_block); });
}

}  // namespace berth::fuse
