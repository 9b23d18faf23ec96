#include "compiler/memory/in_place_set.h"

#include <algorithm>

namespace berth::memory {
namespace {

using ir::Operator;
using ir::ParameterType;

uint32_t arguments_of(const Operator& op) {
  return op.in_place == ir::InPlaceClass::kNever ? 0 : op.in_place_arguments;
}

/// "self, other", of the arguments that `chosen` has.
std::string names_of(const Operator& op, uint32_t chosen) {
  std::string names;
  for (size_t i = 0; i < op.parameters.size() && i < 32; ++i) {
    if ((chosen >> i & 1u) != 0) names += (names.empty() ? "" : ", ") + std::string(op.parameters[i].name);
  }
  return names;
}

/// "self+other", what stands behind the '='.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('+', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_added(const std::string& entry) { return !entry.empty() && entry.front() == '+'; }

}  // namespace

Failure InPlaceSet::refused(const std::string& entry, const std::string& message) {
  return Failure{Error::kInvalidArgument, "in place: " + entry, message};
}

uint32_t InPlaceSet::chosen(const Operator& op) const {
  if (op.own == nullptr) return arguments_[op.id];
  const auto found = own_.find(&op);
  if (found != own_.end()) return found->second;
  return others_keep_theirs_ ? arguments_of(op) : 0;
}

uint32_t InPlaceSet::possible(const Operator& op) const {
  return op.own == nullptr ? arguments_of(op) : arguments_of(op) | chosen(op);
}

Status InPlaceSet::add_own(const std::string& entry, const Operator& op, const std::vector<std::string>& arguments) {
  uint32_t chosen = arguments_of(op);
  if (!arguments.empty()) chosen = 0;
  for (const std::string& name : arguments) {
    const int index = op.parameter_index(name);
    if (index < 0) return refused(entry, op.functional_name + " has no argument " + name);
    const ParameterType type = op.parameters[index].type;
    if (type != ParameterType::kTensor && type != ParameterType::kTensorList &&
        type != ParameterType::kOptionalTensorList) {
      return refused(entry, name + " is not a tensor");
    }
    chosen |= 1u << index;
  }
  if (chosen == 0) {
    return refused(entry, "its maker does not say of which argument; name it, as in " + op.functional_name + "=self");
  }
  own_[&op] |= chosen;
  return Done{};
}

Status InPlaceSet::add(const std::string& entry, const ir::OperatorSet* own) {
  const size_t begin = is_added(entry) ? 1 : 0;
  const size_t equals = std::min(entry.find('='), entry.size());
  const Operator* op = ir::find_operator(entry.substr(begin, equals - begin), own);
  if (op == nullptr) {
    return refused(entry, "there is no such operator; expected one as the IR writes it, such as aten::add.Tensor");
  }
  const std::vector<std::string> names =
      equals == entry.size() ? std::vector<std::string>() : split(entry.substr(equals + 1));
  if (op->own != nullptr) return add_own(entry, *op, names);
  if (arguments_of(*op) == 0) return refused(entry, "its row in the operator table says that it never works in place");
  uint32_t chosen = equals == entry.size() ? arguments_of(*op) : 0;
  for (const std::string& name : names) {
    const int index = op->parameter_index(name);
    if (index < 0) return refused(entry, op->functional_name + " has no argument " + name);
    if (index >= 32 || (arguments_of(*op) >> index & 1u) == 0) {
      return refused(entry, "its row in the operator table never gives " + name + " away; it gives " +
                                names_of(*op, arguments_of(*op)));
    }
    chosen |= 1u << index;
  }
  arguments_[op->id] |= chosen;
  return Done{};
}

InPlaceSet::InPlaceSet() {
  for (size_t i = 0; i < Arguments::size(); ++i) {
    const auto id = static_cast<ir::OpId>(i);
    arguments_[id] = arguments_of(ir::operator_of(id));
  }
}

Expected<InPlaceSet> InPlaceSet::only(const std::vector<std::string>& entries, const ir::OperatorSet* own) {
  InPlaceSet set;
  const Arguments all = set.arguments_;
  set.arguments_.fill(0);
  set.others_keep_theirs_ = !entries.empty() && std::all_of(entries.begin(), entries.end(), is_added);
  if (set.others_keep_theirs_) set.arguments_ = all;
  for (const std::string& entry : entries) BERTH_TRY(set.add(entry, own));
  return set;
}

}  // namespace berth::memory
