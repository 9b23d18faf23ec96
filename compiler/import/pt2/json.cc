#include "compiler/import/pt2/json.h"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace berth::pt2 {
namespace {

constexpr int kMaxDepth = 64;
constexpr size_t kMaxText = size_t{128} << 20;

// Which keys are worth keeping. Events come with the depth of the object that a key stands in.
class Filter {
 public:
  bool keep(int depth, const std::string& key) {
    const size_t level = static_cast<size_t>(depth);
    if (in_metadata_[level - 1]) return key == "stack_trace" || key == "nn_module_stack";
    in_metadata_[level] = key == "metadata";
    return depth > 2 || (key != "module_call_graph" && key != "guards_code");
  }

 private:
  std::array<bool, kMaxDepth + 1> in_metadata_{};  // by depth: whether its last key is "metadata"
};

const Json& null_json() {
  static const Json kNull;
  return kNull;
}
const Json& empty_list() {
  static const Json kList = Json::array();
  return kList;
}
const Json& empty_object() {
  static const Json kObject = Json::object();
  return kObject;
}

}  // namespace

Expected<Json> parse_json(std::string_view text, const std::string& place) {
  if (text.size() > kMaxText) return Failure{Error::kNotSupported, place, "has more than 128 MB of JSON"};
  bool too_deep = false;
  Filter filter;
  const auto keep = [&](int depth, Json::parse_event_t event, Json& parsed) {
    const bool starts = event == Json::parse_event_t::array_start || event == Json::parse_event_t::object_start;
    if (starts && depth >= kMaxDepth) too_deep = true;
    if (too_deep) return false;
    if (event != Json::parse_event_t::key || depth < 1) return true;
    const std::string* key = parsed.get_ptr<const std::string*>();
    return key == nullptr || filter.keep(depth, *key);
  };
  Json json = Json::parse(text.begin(), text.end(), keep, /*allow_exceptions=*/false);
  if (too_deep) {
    return Failure{Error::kNotSupported, place, "its JSON is nested deeper than " + std::to_string(kMaxDepth)};
  }
  if (json.is_discarded()) return Failure{Error::kInvalidProgram, place, "is not JSON, or ends too soon"};
  return json;
}

void JsonReader::fail(const std::string& where, const std::string& message) {
  if (!failure_.has_value()) failure_ = Failure{Error::kInvalidProgram, place_, where + ": " + message};
}

const Json& JsonReader::field(const Json& object, const char* name) const {
  if (!object.is_object()) return null_json();
  const auto found = object.find(name);
  return found == object.end() ? null_json() : *found;
}

std::string JsonReader::text(const Json& value, const std::string& where) {
  if (const std::string* text = value.get_ptr<const std::string*>()) return *text;
  fail(where, "expected a text");
  return {};
}

int64_t JsonReader::integer(const Json& value, const std::string& where) {
  if (value.is_number_unsigned()) {
    const uint64_t number = *value.get_ptr<const Json::number_unsigned_t*>();
    if (number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return static_cast<int64_t>(number);
  } else if (value.is_number_integer()) {
    return *value.get_ptr<const Json::number_integer_t*>();
  }
  fail(where, "expected an integer of 64 bits");
  return 0;
}

double JsonReader::number(const Json& value, const std::string& where) {
  if (value.is_number_float()) return *value.get_ptr<const Json::number_float_t*>();
  if (value.is_number_unsigned()) return static_cast<double>(*value.get_ptr<const Json::number_unsigned_t*>());
  if (value.is_number_integer()) return static_cast<double>(*value.get_ptr<const Json::number_integer_t*>());
  if (const std::string* text = value.get_ptr<const std::string*>()) {
    if (*text == "Infinity") return HUGE_VAL;
    if (*text == "-Infinity") return -HUGE_VAL;
    if (*text == "NaN") return std::nan("");
  }
  fail(where, "expected a number");
  return 0;
}

bool JsonReader::truth(const Json& value, const std::string& where) {
  if (const bool* truth = value.get_ptr<const Json::boolean_t*>()) return *truth;
  fail(where, "expected true or false");
  return false;
}

const Json& JsonReader::list(const Json& value, const std::string& where) {
  if (value.is_array()) return value;
  if (!value.is_null()) fail(where, "expected a list");
  return empty_list();
}

const Json& JsonReader::object(const Json& value, const std::string& where) {
  if (value.is_object()) return value;
  if (!value.is_null()) fail(where, "expected an object");
  return empty_object();
}

std::string JsonReader::variant(const Json& value, const std::string& where, const Json** content) {
  *content = &null_json();
  if (!value.is_object() || value.size() != 1) {
    fail(where, "expected an object of one key");
    return {};
  }
  *content = &value.begin().value();
  return value.begin().key();
}

}  // namespace berth::pt2
