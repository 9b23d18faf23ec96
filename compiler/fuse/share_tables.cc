#include "compiler/fuse/share_tables.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "kernels/cpu/packed_table.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::ConstantId;
using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;
using ir::ValueList;

constexpr char kWeightRows[] = "berth::weight_rows";

/// Rows of a constant that indices name.
struct PickedRows {
  ConstantId table;
  ValueId indices;
  bool from_end = false;  // negative ones count from there
};

/// How berth::weight_rows reads a table.
struct SharedRows {
  ConstantId weight;
  int64_t bits = 0;
  std::string form, packing;

  bool operator<(const SharedRows& other) const {
    return std::tie(weight, bits, form, packing) < std::tie(other.weight, other.bits, other.form, other.packing);
  }
};

std::optional<PickedRows> pick_of_rows(const ir::Method& method, const Node& node) {
  PickedRows pick;
  switch (node.op->id) {
    case OpId::embedding_out: pick.indices = value_argument(node, arg::embedding_out::indices); break;
    case OpId::index_select_out: {
      const auto* dim = std::get_if<Dim>(&node.args[arg::index_select_out::dim]);
      if (dim == nullptr || *dim != Dim(0)) return std::nullopt;
      pick.indices = value_argument(node, arg::index_select_out::index);
      if (pick.indices.valid() && method.tensor(pick.indices).rank() != 1) return std::nullopt;
      break;
    }
    case OpId::index_Tensor_out: {
      const auto& list = std::get<ValueList>(node.args[arg::index_Tensor_out::indices]);
      if (list.empty() || std::any_of(list.begin() + 1, list.end(), [](ValueId v) { return v.valid(); })) {
        return std::nullopt;
      }
      pick.indices = list[0];
      pick.from_end = true;
      break;
    }
    default: return std::nullopt;
  }
  const ValueId table = value_argument(node, 0);
  if (!table.valid() || !pick.indices.valid()) return std::nullopt;
  pick.table = method.value(table).constant;
  const DType dtype = method.tensor(pick.indices).dtype;
  const bool rows = pick.table.valid() && method.tensor(table).rank() > 1 && method.tensor(table).is_contiguous();
  if (!rows || (dtype != DType::kI64 && dtype != DType::kI32)) return std::nullopt;
  return pick;
}

class SharedTables {
 public:
  SharedTables(const ir::Module& module, const Targets& targets) : module_(module) {
    const IdVector<ConstantId, int> uses = passes::count_constant_uses(module);
    std::map<ConstantId, int> picks;
    for (const ir::Method& method : module.methods) {
      const NodeTargets of = targets_of_nodes(module, method, targets);
      ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
        for (NodeId id : graph.nodes) {
          if (of[id] == nullptr || of[id]->isa.empty()) continue;
          add_weights(method, method.node(id));
          if (const auto pick = pick_of_rows(method, method.node(id))) ++picks[pick->table];
        }
      });
    }
    for (const auto& [table, count] : picks) {
      if (uses[table] > count) read_elsewhere_.insert(table);
    }
  }

  struct Found {
    std::optional<Reason> reason;  // none where no weight is as large; kFused with `rows`
    SharedRows rows;
  };

  const Found& find(ConstantId table) {
    const auto known = found_.find(table);
    return known != found_.end() ? known->second : found_.emplace(table, search(table)).first->second;
  }

 private:
  void add(const ir::Method& method, const Argument& weight, int64_t bits, const std::string& packing) {
    if (ir::is_none(weight)) return;
    const ConstantId constant = method.value(std::get<ValueId>(weight)).constant;
    if (constant.valid()) weights_.insert({constant, bits, "", packing});
  }

  void add_weights(const ir::Method& method, const Node& node) {
    if (node.is(OpId::fused_linear_out)) {
      namespace at = arg::fused_linear_out;
      const auto& packing = std::get<std::string>(node.args[at::packing]);
      if (!packing.empty()) add(method, node.args[at::weight], 0, packing);
    } else if (node.is(OpId::fused_narrow_linear_out)) {
      namespace at = arg::fused_narrow_linear_out;
      const auto& packing = std::get<std::string>(node.args[at::packing]);
      const int64_t bits = std::get<Dim>(node.args[at::bits]).value;
      cpu::NarrowLayout layout;
      if (!cpu::read_narrow_packing({packing.data(), packing.size()}, bits, std::get<Dim>(node.args[at::block]).value,
                                    &layout)) {
        return;
      }
      add(method, node.args[at::weight], bits, packing);
      cpu::NarrowLayout numbers;
      numbers.depth = layout.blocks;
      numbers.columns = layout.columns;
      add(method, node.args[at::scales], 0, numbers.text());
      const ir::Constant* scales = ir::constant_of(module_, method, node.args[at::scales]);
      if (scales != nullptr && scales->type.dtype == DType::kF16)
        add(method, node.args[at::scales], 16, numbers.text());
      add(method, node.args[at::zero_points], 0, numbers.text());
    }
  }

  Found search(ConstantId id) const {
    const ir::Constant& table = module_.constants[id];
    std::optional<Reason> reason;
    for (SharedRows rows : weights_) {
      const char* const whole = table.type.dtype == DType::kI8 ? "i8" : "u8";
      std::vector<const char*> forms = {rows.bits == 0 ? "" : rows.bits == 16 ? "f32" : whole};
      if (rows.bits == 4) forms.push_back("pairs");
      for (const char* form : forms) {
        rows.form = form;
        cpu::PackedTable packed;
        if (!has_sizes(table, rows, &packed)) continue;
        if (read_elsewhere_.count(id) != 0) return {Reason::kReadElsewhere, {}};
        if (has_rows(table, packed, module_.constants[rows.weight])) return {Reason::kFused, rows};
        reason = Reason::kRowsDiffer;
      }
    }
    return {reason, {}};
  }

  bool has_sizes(const ir::Constant& table, const SharedRows& rows, cpu::PackedTable* packed) const {
    const ir::Constant& weight = module_.constants[rows.weight];
    if (weight.type.rank() != 1) return false;  // scales of a packed weight that this compiler has not packed
    const int64_t count = table.type.shape[0].value;
    const auto size = static_cast<int64_t>(element_size(table.type.dtype));
    return packed->read({rows.packing.data(), rows.packing.size()}, rows.bits, {rows.form.data(), rows.form.size()},
                        weight.type.dtype, weight.type.shape[0].value) &&
           packed->dtype() == table.type.dtype && packed->rows() == count &&
           packed->width() * size * count == static_cast<int64_t>(table.blob.size());
  }

  static bool has_rows(const ir::Constant& table, const cpu::PackedTable& packed, const ir::Constant& weight) {
    std::vector<uint8_t> table_room, weight_room;
    const uint8_t* const rows = table.blob.bytes_or_copy(&table_room).data();
    const uint8_t* const from = weight.blob.bytes_or_copy(&weight_room).data();
    std::vector<uint8_t> row(packed.row_bytes());
    bool same = true;
    for (int64_t i = 0; same && i < packed.rows(); ++i) {
      packed.copy_row(from, i, row.data());
      same = std::memcmp(rows + i * packed.row_bytes(), row.data(), row.size()) == 0;
    }
    table.blob.release();
    return same;
  }

  const ir::Module& module_;
  std::set<SharedRows> weights_;  // without forms
  std::set<ConstantId> read_elsewhere_;
  std::map<ConstantId, Found> found_;
};

Expected<passes::Action> share(Context& context, ir::Builder& build, NodeId id, SharedTables& tables) {
  const Node& node = context.node(id);
  if (context.target(id).isa.empty()) return passes::Action::keep();
  const std::optional<PickedRows> pick = pick_of_rows(context.method(), node);
  if (!pick.has_value()) return passes::Action::keep();
  const auto& [reason, rows] = tables.find(pick->table);
  if (!reason.has_value()) return passes::Action::keep();
  context.remark(node, *reason, kWeightRows);
  if (*reason != Reason::kFused) return passes::Action::keep();
  const std::string source = node.source;
  const std::vector<Dim> shape = context.type(node.results[0]).shape;
  const std::string name = context.method().value(node.results[0]).name;
  const ValueId weight = context.method().constant_value(context.module(), rows.weight);
  BERTH_ASSIGN_OR_RETURN(
      const ValueId made,
      build.one(OpId::weight_rows_out, {weight, pick->indices, pick->from_end, Dim(rows.bits), rows.form, rows.packing},
                source, name));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, with_shape(context, build, made, shape, source));
  return context.replace(id, result);
}

}  // namespace

Expected<passes::Changed> share_tables(ir::Module& module, const Targets& targets, const passes::Options& options) {
  SharedTables tables(module, targets);
  return rewrite_regions(module, targets, options, [&] {
    return Visit([&](Context& context, ir::Builder& build, NodeId id) { return share(context, build, id, tables); });
  });
}

}  // namespace berth::fuse
