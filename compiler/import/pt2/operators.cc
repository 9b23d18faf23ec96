#include "compiler/import/pt2/operators.h"

#include <unordered_map>

#include "compiler/ir/own_operators.h"

namespace berth::pt2 {
namespace {

using Table = std::unordered_map<std::string_view, Import>;

const Table& all_operators() {
  static const Table kTable = [] {
    Table table;
    for (OperatorTable family :
         {activation_operators(), attention_operators(), cache_operators(),      cast_operators(),
          conv_operators(),       create_operators(),    cumulative_operators(), distance_operators(),
          embedding_operators(),  frequency_operators(), grouped_operators(),    index_operators(),
          layout_operators(),     linear_operators(),    loss_operators(),       matrix_operators(),
          norm_operators(),       pad_operators(),       pointwise_operators(),  pool_operators(),
          recurrent_operators(),  reduce_operators(),    resize_operators(),     split_operators(),
          symbol_operators(),     system_operators(),    torchao_operators(),    vision_operators(),
          window_operators()}) {
      for (const OperatorRow& row : family) table.emplace(row.name, row.import);
    }
    return table;
  }();
  return kTable;
}

struct Name {
  std::string space, base, overload;
  bool in_place = false;
};

// "torch.ops.aten.add_.Tensor" → aten, add, Tensor, in place. `__and__` and its kin are Python's names, not in place.
Name parse(const std::string& target) {
  Name name;
  const std::string full = operator_name(target, &name.space);
  const size_t dot = name.space.empty() ? std::string::npos : full.find('.');
  name.base = full.substr(0, dot);
  if (dot != std::string::npos) name.overload = full.substr(dot + 1);
  const size_t length = name.base.size();
  const bool dunder = length > 4 && name.base.compare(0, 2, "__") == 0;
  if (!name.space.empty() && length > 1 && name.base[length - 1] == '_' && !dunder) {
    name.in_place = true;
    name.base.pop_back();
  }
  return name;
}

const Table& complex_table() {
  static const Table kTable = [] {
    Table table;
    for (OperatorTable family : {complex_operators(), fourier_operators()}) {
      for (const OperatorRow& row : family) table.emplace(row.name, row.import);
    }
    return table;
  }();
  return kTable;
}

const ir::Operator* find_row(const std::string& space, const std::string& base, const std::string& overload) {
  const std::string suffix = overload.empty() || overload == "default" ? "" : "." + overload;
  for (const char* copy : {"", "_copy"}) {
    const ir::Operator* row = ir::find_operator(space + "::" + base + copy + suffix);
    if (row != nullptr && row->infer != nullptr && !row->writes_self) return row;
  }
  return nullptr;
}

/// "torch.sym_max" and "math.trunc" are known by their last part, behind "py:".
std::string python_name(const std::string& target) {
  const size_t dot = target.rfind('.');
  return "py:" + (dot == std::string::npos ? target : target.substr(dot + 1));
}

}  // namespace

Importer find_importer(const std::string& target, const ir::OperatorSet* own) {
  const Table& table = all_operators();
  Importer importer;
  const Name name = parse(target);
  if (name.space.empty()) {
    const auto found = table.find(python_name(target));
    if (found != table.end()) importer.import = found->second;
    return importer;
  }
  if (name.space == "aten" || name.space == "prims") {
    const auto complex = complex_table().find(name.base);
    if (complex != complex_table().end()) importer.complex = complex->second;
    importer.by_parts = works_by_parts(name.base);
    for (const std::string& key : {name.base + "." + name.overload, name.base}) {
      const auto found = table.find(key);
      if (found == table.end()) continue;
      importer.import = found->second;
      return importer;
    }
  }
  if (const auto found = table.find(name.space + "::" + name.base); found != table.end()) {
    importer.import = found->second;
    return importer;
  }
  importer.row = find_row(name.space, name.base, name.overload);
  if (importer.row != nullptr || own == nullptr) return importer;
  const bool plain = name.overload.empty() || name.overload == "default";
  importer.row = own->find(name.space + "::" + name.base + (plain ? "" : "." + name.overload));
  return importer;
}

bool writes_in_place(const std::string& target) { return parse(target).in_place; }

namespace {

void import_real(NodeContext& n, const Importer& importer) {
  if (importer.import != nullptr) {
    importer.import(n);
  } else {
    import_generic(n, *importer.row);
  }
}

}  // namespace

void import_node(NodeContext& n, const Importer& importer) {
  const bool real = importer.import != nullptr || importer.row != nullptr;
  if (real && !n.is_complex()) return import_real(n, importer);
  if (importer.complex != nullptr) return importer.complex(n);
  if (!importer.by_parts)
    return n.unsupported("is not read for complex numbers; compute with their real and imaginary parts");
  for (const Part part : {Part::kReal, Part::kImaginary}) {
    n.take(part);
    import_real(n, importer);
  }
  n.take(Part::kNone);
}

}  // namespace berth::pt2
