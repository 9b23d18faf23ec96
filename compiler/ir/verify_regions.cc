#include "compiler/ir/verify_regions.h"

#include "compiler/ir/arguments.h"
#include "compiler/ir/print.h"

namespace berth::ir {
namespace {

using TypeList = std::vector<Type>;

class RegionRules {
 public:
  RegionRules(const Module& module, const Method& method, const Node& node)
      : module_(module), method_(method), node_(node) {}

  std::string check() const {
    const bool has_state = module_.states.contains(node_.state);
    const bool wants_state = node_.is(OpId::state_read) || node_.is(OpId::state_write);
    if (wants_state != has_state) return wants_state ? "expected the name of a state" : "expected no state";
    const bool has_delegate = module_.delegates.contains(node_.delegate);
    if (node_.is(OpId::delegate) != has_delegate) {
      return has_delegate ? "expected no delegate" : "expected the name of a delegate";
    }
    switch (node_.op->id) {
      case OpId::if_: return check_if();
      case OpId::while_: return check_while();
      case OpId::scan: return check_scan();
      case OpId::delegate: return check_delegate();
      case OpId::state_read: return read();
      case OpId::state_write: return write();
      default: return "this operator has no shape rule";
    }
  }

 private:
  const Type& type(ValueId id) const { return method_.value(id).type; }

  TypeList types(const std::vector<ValueId>& ids) const {
    TypeList list;
    for (ValueId id : ids) list.push_back(type(id));
    return list;
  }

  // Types of what a region yields; literals count as numbers.
  TypeList yields(const Graph& region) const {
    TypeList list;
    for (const Argument& output : region.outputs) {
      if (const ValueId* id = std::get_if<ValueId>(&output)) list.push_back(type(*id));
      if (std::holds_alternative<Dim>(output)) list.push_back(ScalarKind::kInt);
      if (std::holds_alternative<double>(output)) list.push_back(ScalarKind::kFloat);
      if (std::holds_alternative<bool>(output)) list.push_back(ScalarKind::kBool);
    }
    return list;
  }

  std::string text(const TypeList& list) const {
    std::string out = "(";
    for (size_t i = 0; i < list.size(); ++i) out += (i == 0 ? "" : ", ") + print(list[i], module_.symbols);
    return out + ")";
  }

  // Where values live is for verify_devices().
  static TypeList anywhere(TypeList list) {
    for (Type& one : list) {
      if (TensorType* tensor = std::get_if<TensorType>(&one)) tensor->device = Device();
    }
    return list;
  }

  std::string same(const char* what, const TypeList& expected, const TypeList& found) const {
    if (anywhere(expected) == anywhere(found)) return "";
    return "expected " + std::string(what) + " of types " + text(expected) + ", found " + text(found);
  }

  static std::string first(std::initializer_list<std::string> problems) {
    for (const std::string& problem : problems) {
      if (!problem.empty()) return problem;
    }
    return "";
  }

  std::string regions(size_t count) const {
    if (node_.regions.size() == count) return "";
    return "expected " + std::to_string(count) + " regions, found " + std::to_string(node_.regions.size());
  }

  bool is_truth(const Type& t) const {
    if (const ScalarKind* kind = std::get_if<ScalarKind>(&t)) return *kind == ScalarKind::kBool;
    const TensorType& tensor = std::get<TensorType>(t);
    if (tensor.dtype != DType::kBool) return false;
    for (Dim size : tensor.shape) {
      if (size != Dim(1)) return false;
    }
    return true;
  }

  /// `count` regions that yield values and numbers: nothing else has a type.
  std::string typed_regions(size_t count) const {
    if (std::string problem = regions(count); !problem.empty()) return problem;
    for (const Graph& region : node_.regions) {
      if (yields(region).size() != region.outputs.size()) return "expected regions that yield values and numbers";
    }
    return "";
  }

  std::string check_if() const {
    if (std::string problem = typed_regions(2); !problem.empty()) return problem;
    const ValueId* cond = std::get_if<ValueId>(&node_.args[arg::if_::cond]);
    if (cond != nullptr ? !is_truth(type(*cond)) : !std::holds_alternative<bool>(node_.args[arg::if_::cond])) {
      return "expected a condition that is one bool";
    }
    const TypeList results = types(node_.results);
    return first({same("inputs of the first region", {}, types(node_.regions[0].inputs)),
                  same("inputs of the second region", {}, types(node_.regions[1].inputs)),
                  same("outputs of the first region", results, yields(node_.regions[0])),
                  same("outputs of the second region", results, yields(node_.regions[1]))});
  }

  std::string check_while() const {
    if (std::string problem = typed_regions(2); !problem.empty()) return problem;
    const TypeList carried = types(std::get<ValueList>(node_.args[arg::while_::init]));
    const TypeList truth = yields(node_.regions[0]);
    if (truth.size() != 1 || !is_truth(truth[0])) return "expected a condition region that yields one bool";
    return first({same("inputs of the condition", carried, types(node_.regions[0].inputs)),
                  same("inputs of the body", carried, types(node_.regions[1].inputs)),
                  same("outputs of the body", carried, yields(node_.regions[1])),
                  same("results", carried, types(node_.results))});
  }

  std::string check_scan() const {
    if (std::string problem = typed_regions(1); !problem.empty()) return problem;
    const Dim* length = std::get_if<Dim>(&node_.args[arg::scan::length]);
    if (length == nullptr || module_.symbols.lower(*length) < 0) return "expected a length of at least 0";
    const TypeList carried = types(std::get<ValueList>(node_.args[arg::scan::carried]));
    TypeList taken = carried;
    for (ValueId id : std::get<ValueList>(node_.args[arg::scan::scanned])) {
      TensorType slice = method_.tensor(id);
      if (slice.shape.empty() || slice.shape[0] != *length || !slice.is_contiguous()) {
        return "expected scanned values whose first size is the length, found " + print(Type(slice), module_.symbols);
      }
      slice.shape.erase(slice.shape.begin());
      taken.push_back(std::move(slice));
    }
    TypeList given = yields(node_.regions[0]);
    if (given.size() < carried.size()) return "expected a body that yields what it carries";
    for (size_t i = carried.size(); i < given.size(); ++i) {
      TensorType* stacked = std::get_if<TensorType>(&given[i]);
      if (stacked == nullptr) return "expected a body that yields tensors";
      stacked->shape.insert(stacked->shape.begin(), *length);
      stacked->dim_order.clear();
    }
    return first({same("inputs of the body", taken, types(node_.regions[0].inputs)),
                  same("results", given, types(node_.results)),
                  same("carried outputs of the body", carried,
                       TypeList(given.begin(), given.begin() + static_cast<ptrdiff_t>(carried.size())))});
  }

  // A call without what to compile or a compiled module calls nothing.
  std::string check_delegate() const {
    const bool compiled = module_.delegates[node_.delegate].payload.has_value();
    for (ValueId id : node_.results) {
      if (method_.value(id).tensor() == nullptr) return "expected results that are tensors";
    }
    for (ValueId id : std::get<ValueList>(node_.args[arg::delegate::inputs])) {
      if (!id.valid()) return "expected inputs that are tensors, found none";
    }
    if (compiled && node_.regions.empty()) return "";
    if (compiled) return "expected no region, because the delegate is compiled already";
    if (node_.regions.size() != 1) {
      return "expected one region, or a delegate that is compiled already; found " +
             std::to_string(node_.regions.size()) + " regions and no contents";
    }
    for (NodeId id : node_.regions[0].nodes) {
      const Node& inner = method_.node(id);
      if (inner.is(OpId::delegate) || inner.state.valid()) {
        return "expected a region of operators, found " + inner.op->functional_name;
      }
    }
    for (const Argument& output : node_.regions[0].outputs) {
      const ValueId* id = std::get_if<ValueId>(&output);
      if (id == nullptr || !id->valid()) return "expected a region that yields tensors";
    }
    return first({same("inputs of the region", types(std::get<ValueList>(node_.args[arg::delegate::inputs])),
                       types(node_.regions[0].inputs)),
                  same("outputs of the region", types(node_.results), yields(node_.regions[0]))});
  }

  std::string read() const {
    return first({regions(0), same("a result", {Type(module_.states[node_.state].type)}, types(node_.results))});
  }

  std::string write() const {
    const TypeList state = {Type(module_.states[node_.state].type)};
    return first({regions(0), same("results", {}, types(node_.results)),
                  same("a value", state, {type(std::get<ValueId>(node_.args[arg::state_write::value]))})});
  }

  const Module& module_;
  const Method& method_;
  const Node& node_;
};

}  // namespace

std::string depth_problem(const Node& node, int depth) {
  if (depth < kMaxRegionDepth + (node.is(OpId::delegate) ? 1 : 0)) return "";
  return "expected at most " + std::to_string(kMaxRegionDepth) + " regions within each other";
}

std::string region_problem(const Module& module, const Method& method, const Node& node) {
  return RegionRules(module, method, node).check();
}

}  // namespace berth::ir
