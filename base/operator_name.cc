#include "base/operator_name.h"

#include <algorithm>

namespace berth {
namespace {

constexpr size_t kLongestName = 120;

// Those whose operators Berth, ExecuTorch's runtime or an importer means something by.
constexpr std::string_view kTaken[] = {"aten",  "prim",    "prims", "berth",        "et_copy", "executorch_prim",
                                       "torch", "ai.onnx", "onnx",  "dim_order_ops"};

bool is_word(std::string_view text, bool dots) {
  const auto fits = [dots](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (dots && c == '.');
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

}  // namespace

std::string own_operator_problem(std::string_view name) {
  const size_t colons = name.find("::");
  const size_t dot = colons == std::string_view::npos ? colons : name.find('.', colons);
  const std::string_view space = name.substr(0, std::min(colons, name.size()));
  const std::string_view base =
      colons == std::string_view::npos ? std::string_view() : name.substr(colons + 2, dot - colons - 2);
  const bool overload = dot == std::string_view::npos || is_word(name.substr(dot + 1), false);
  const bool first_is_letter = !space.empty() && (space[0] < '0' || space[0] > '9') && space[0] != '.';
  if (name.size() > kLongestName || !is_word(space, true) || !first_is_letter || !is_word(base, false) || !overload) {
    return "expected a name such as my::gain or my::gain.Tensor, of at most " + std::to_string(kLongestName) +
           " letters, digits and underscores";
  }
  if (std::find(std::begin(kTaken), std::end(kTaken), space) == std::end(kTaken)) return "";
  return "the name space " + std::string(space) + " is not one's own";
}

}  // namespace berth
