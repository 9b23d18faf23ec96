#include "compiler/memory/in_place_set.h"

#include <algorithm>

namespace berth::memory {
namespace {

using ir::Operator;

uint32_t arguments_of(const Operator& op) {
  return op.in_place == ir::InPlaceClass::kNever ? 0 : op.in_place_arguments;
}

Failure refused(const std::string& entry, const std::string& message) {
  return Failure{Error::kInvalidArgument, "in place: " + entry, message};
}

/// "self, other", of the arguments that `chosen` has.
std::string names_of(const Operator& op, uint32_t chosen) {
  std::string names;
  for (size_t i = 0; i < op.parameters.size() && i < 32; ++i) {
    if ((chosen >> i & 1u) != 0) names += (names.empty() ? "" : ", ") + std::string(op.parameters[i].name);
  }
  return names;
}

/// Adds the argument called `name` to `chosen`.
Status choose(const std::string& entry, const Operator& op, const std::string& name, uint32_t* chosen) {
  const int index = op.parameter_index(name);
  if (index < 0) return refused(entry, op.functional_name + " has no argument " + name);
  const uint32_t allowed = arguments_of(op);
  if (index >= 32 || (allowed >> index & 1u) == 0) {
    return refused(entry, "its row in the operator table never gives " + name + " away; it gives " +
                              (allowed == 0 ? "nothing" : names_of(op, allowed)));
  }
  *chosen |= 1u << index;
  return Done{};
}

Status add(const std::string& entry, std::vector<uint32_t>* arguments) {
  const size_t equals = std::min(entry.find('='), entry.size());
  const Operator* op = ir::find_operator(entry.substr(0, equals));
  if (op == nullptr) {
    return refused(entry, "there is no such operator; expected one as the IR writes it, such as aten::add.Tensor");
  }
  if (arguments_of(*op) == 0) return refused(entry, "its row in the operator table says that it never works in place");
  uint32_t chosen = equals == entry.size() ? arguments_of(*op) : 0;
  for (size_t begin = equals + 1; begin <= entry.size();) {
    const size_t end = std::min(entry.find('+', begin), entry.size());
    BERTH_TRY(choose(entry, *op, entry.substr(begin, end - begin), &chosen));
    begin = end + 1;
  }
  (*arguments)[static_cast<size_t>(op->id)] |= chosen;
  return Done{};
}

}  // namespace

InPlaceSet::InPlaceSet() : arguments_(static_cast<size_t>(ir::OpId::kCount), 0) {
  for (size_t id = 0; id < arguments_.size(); ++id) {
    arguments_[id] = arguments_of(ir::operator_of(static_cast<ir::OpId>(id)));
  }
}

Expected<InPlaceSet> InPlaceSet::only(const std::vector<std::string>& entries) {
  InPlaceSet set;
  std::fill(set.arguments_.begin(), set.arguments_.end(), 0);
  for (const std::string& entry : entries) BERTH_TRY(add(entry, &set.arguments_));
  return set;
}

}  // namespace berth::memory
