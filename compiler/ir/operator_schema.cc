#include "compiler/ir/operator_schema.h"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace berth::ir {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (text.size() < suffix.size() || text.substr(text.size() - suffix.size()) != suffix) return false;
  text.remove_suffix(suffix.size());
  return true;
}

ParameterType parse_type(std::string_view text, bool list, bool optional_items) {
  if (text == "Tensor") {
    if (!list) return ParameterType::kTensor;
    return optional_items ? ParameterType::kOptionalTensorList : ParameterType::kTensorList;
  }
  if (text == "int") return list ? ParameterType::kIntList : ParameterType::kInt;
  if (text == "float") return list ? ParameterType::kFloatList : ParameterType::kFloat;
  if (text == "bool") return list ? ParameterType::kBoolList : ParameterType::kBool;
  if (text == "Scalar") return ParameterType::kScalar;
  if (text == "str") return ParameterType::kString;
  if (text == "ScalarType") return ParameterType::kDType;
  BERTH_CHECK(text == "MemoryFormat");
  return ParameterType::kMemoryFormat;
}

Argument parse_default(std::string_view text, ParameterType type) {
  if (text == "None") return None{};
  if (text == "True") return true;
  if (text == "False") return false;
  if (text == "[]") return type == ParameterType::kFloatList ? Argument(FloatList{}) : Argument(DimList{});
  if (text.front() == '\'') return std::string(text.substr(1, text.size() - 2));
  const std::string number(text);
  const bool real = type == ParameterType::kFloat || text.find_first_of(".e") != std::string_view::npos;
  if (real) return std::strtod(number.c_str(), nullptr);
  const Dim whole(std::strtoll(number.c_str(), nullptr, 10));
  // A number as default of a list of unknown length stands for one entry; kernels repeat it.
  if (type == ParameterType::kIntList) return DimList{whole};
  return whole;
}

Parameter parse_parameter(std::string_view text) {
  Parameter parameter;
  if (text.front() == '@') {
    parameter.functional_only = true;
    text.remove_prefix(1);
  }
  const size_t space = text.find(' ');
  std::string_view type = text.substr(0, space);
  std::string_view rest = text.substr(space + 1);
  parameter.optional = take_suffix(type, "?");
  const bool list = take_suffix(type, "[]");
  const bool optional_items = list && take_suffix(type, "?");
  parameter.type = parse_type(type, list, optional_items);
  const size_t equals = rest.find('=');
  parameter.name = rest.substr(0, equals);
  if (equals != std::string_view::npos) {
    parameter.default_value = parse_default(rest.substr(equals + 1), parameter.type);
  }
  return parameter;
}

}  // namespace

void parse_schema(std::string_view schema, Operator& op) {
  const size_t arrow = schema.find("->");
  std::string_view inputs = trim(schema.substr(0, arrow));
  std::string_view outputs = arrow == std::string_view::npos ? std::string_view() : trim(schema.substr(arrow + 2));
  while (!inputs.empty()) {
    const size_t comma = inputs.find(", ");
    op.parameters.push_back(parse_parameter(inputs.substr(0, comma)));
    inputs = comma == std::string_view::npos ? std::string_view() : inputs.substr(comma + 2);
  }
  if (outputs == "Tensor(self)") {
    op.writes_self = true;
    op.outputs.push_back("self");
    return;
  }
  while (!outputs.empty()) {
    const size_t comma = outputs.find(", ");
    const std::string_view one = outputs.substr(0, comma);
    op.output_is_list = op.output_is_list || one.substr(0, 8) == "Tensor[]";
    // An argument that is written beside the outputs is none itself.
    if (one.substr(0, 7) != "Tensor(") op.outputs.push_back(one.substr(one.find(' ') + 1));
    outputs = comma == std::string_view::npos ? std::string_view() : outputs.substr(comma + 2);
  }
}

// The check of a stranger's schema. What it lets through is what parse_schema() understands.
namespace {

constexpr size_t kMostParameters = 32;  // as the runtime's Signature has

bool is_name(std::string_view text) {
  const auto fits = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && (text[0] < '0' || text[0] > '9') && std::all_of(text.begin(), text.end(), fits);
}

bool is_type(std::string_view text) {
  static const std::set<std::string_view> kTypes = {
      "Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "Scalar",     "Scalar?",     "int",          "int?",
      "int[]",  "int[]?",  "float",    "float?",    "float[]?",   "float[]",     "bool",         "bool?",
      "bool[]", "bool[]?", "str",      "str?",      "ScalarType", "ScalarType?", "MemoryFormat", "MemoryFormat?"};
  return kTypes.count(text) != 0;
}

bool is_number(std::string_view text, bool real) {
  const std::string number(text);
  char* end = nullptr;
  const bool starts = !number.empty() && (number[0] == '-' || (number[0] >= '0' && number[0] <= '9'));
  if (!starts || number.size() > 18) return false;
  if (real) {
    static_cast<void>(std::strtod(number.c_str(), &end));
  } else {
    static_cast<void>(std::strtoll(number.c_str(), &end, 10));
  }
  return *end == '\0' && number.find_first_of("xXpP") == std::string::npos;
}

bool fits_default(std::string_view type, std::string_view text) {
  const bool list = type.find("[]") != std::string_view::npos;
  if (text == "None") return type.back() == '?';
  if (list) return text == "[]";
  const std::string_view plain = type.substr(0, type.find('?'));
  if (plain == "bool") return text == "True" || text == "False";
  if (plain == "str") {
    return text.size() >= 2 && text.front() == '\'' && text.back() == '\'' &&
           text.substr(1, text.size() - 2).find_first_of("',\"\\") == std::string_view::npos;
  }
  if (plain == "int") return is_number(text, false);
  return (plain == "float" || plain == "Scalar") && is_number(text, true);
}

// `text` without its first item, which goes to `*item`: items stand between ", ".
std::string_view without_first(std::string_view text, std::string_view* item) {
  const size_t comma = text.find(", ");
  *item = text.substr(0, comma);
  return comma == std::string_view::npos ? std::string_view() : text.substr(comma + 2);
}

std::string parameter_problem(std::string_view one, std::set<std::string_view>* names) {
  const size_t space = std::min(one.find(' '), one.size());
  const std::string_view type = one.substr(0, space);
  const std::string_view rest = one.substr(std::min(space + 1, one.size()));
  const size_t equals = std::min(rest.find('='), rest.size());
  const std::string_view name = rest.substr(0, equals);
  const std::string found = "found \"" + std::string(one) + "\"";
  if (!is_type(type)) return "expected a type such as Tensor, int[] or float? in front of each parameter, " + found;
  if (!is_name(name)) return "expected a name of lower-case letters, digits and underscores behind the type, " + found;
  if (!names->insert(name).second) return "two parameters are called " + std::string(name);
  if (equals < rest.size() && !fits_default(type, rest.substr(equals + 1))) {
    return "the default does not fit the type, " + found;
  }
  return "";
}

std::string results_problem(std::string_view results, std::set<std::string_view>* names) {
  bool list = false;
  size_t count = 0;
  while (!results.empty()) {
    std::string_view one;
    results = without_first(results, &one);
    const size_t space = std::min(one.find(' '), one.size());
    const std::string_view type = one.substr(0, space);
    if ((type != "Tensor" && type != "Tensor[]") || !is_name(one.substr(std::min(space + 1, one.size())))) {
      return "expected results such as \"Tensor out\" or \"Tensor[] out\", found \"" + std::string(one) + "\"";
    }
    list = list || type == "Tensor[]";
    ++count;
    if (!names->insert(one.substr(space + 1)).second) return "two names are " + std::string(one.substr(space + 1));
  }
  if (count == 0) return "it has no result";
  return list && count > 1 ? "a list of results is the only result" : "";
}

}  // namespace

std::string schema_problem(std::string_view schema) {
  const size_t arrow = schema.find(" -> ");
  if (arrow == std::string_view::npos || schema.find("->", arrow + 4) != std::string_view::npos) {
    return "expected \"PARAMETERS -> RESULTS\", such as \"Tensor self, float factor=1 -> Tensor out\"";
  }
  std::set<std::string_view> names;
  std::string_view rest = schema.substr(0, arrow);
  while (!rest.empty()) {
    std::string_view one;
    rest = without_first(rest, &one);
    if (std::string problem = parameter_problem(one, &names); !problem.empty()) return problem;
  }
  if (std::string problem = results_problem(schema.substr(arrow + 4), &names); !problem.empty()) return problem;
  if (names.size() <= kMostParameters) return "";
  return "it has more than " + std::to_string(kMostParameters) + " parameters and results";
}

}  // namespace berth::ir
