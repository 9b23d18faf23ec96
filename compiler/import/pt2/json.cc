#include "compiler/import/pt2/json.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace berth::pt2 {
namespace {

constexpr size_t kMaxJsonDepth = 64;
constexpr size_t kMaxJsonText = size_t{128} << 20;

// Which keys are worth keeping.
class Filter {
 public:
  /// A list or an object begins inside of `depth` others.
  void start(size_t depth, bool list) { levels_[depth + 1] = {list, false}; }

  /// `depth` is how many lists and objects have begun where the key stands. Nodes, the items of a list, have metadata;
  /// elsewhere that is a name like any other.
  bool keep(size_t depth, const std::string& key) {
    if (levels_[depth - 1].in_metadata) return key == "stack_trace" || key == "nn_module_stack";
    levels_[depth].in_metadata = key == "metadata" && levels_[depth - 1].list;
    return depth > 2 || (key != "module_call_graph" && key != "guards_code");
  }

 private:
  struct Level {
    bool list = false;
    bool in_metadata = false;  // of an object: its last key is "metadata"
  };
  std::array<Level, kMaxJsonDepth + 1> levels_;
};

// Makes the document from the parser's events. The parser's own way of leaving values out by a callback walks over the
// whole of a list at the end of each object in it.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool too_deep() const { return too_deep_; }
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // texts have none
  bool start_object(size_t) override { return start(Json::object()); }
  bool start_array(size_t) override { return start(Json::array()); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

  bool key(std::string& key) override {
    if (skipped_ > 0) return true;
    if (filter_.keep(depth_, key)) {
      place_ = &open_.back()->append(std::move(key), nullptr);
    } else {
      skipped_ = depth_;
    }
    return true;
  }

 private:
  bool start(Json opened) {
    too_deep_ = too_deep_ || depth_ >= kMaxJsonDepth;
    if (too_deep_) return false;
    filter_.start(depth_, opened.is_array());
    if (skipped_ == 0) open_.push_back(put(std::move(opened)));
    ++depth_;
    return true;
  }

  bool end() {
    --depth_;
    if (skipped_ == 0) open_.pop_back();
    if (skipped_ == depth_) skipped_ = 0;
    return true;
  }

  bool add(Json value) {
    if (skipped_ == 0) put(std::move(value));
    if (skipped_ == depth_) skipped_ = 0;
    return true;
  }

  // Into the list that is open, at the last key of the object that is, or as the document.
  Json* put(Json value) {
    if (!open_.empty() && open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      return &open_.back()->back();
    }
    Json* const place = open_.empty() ? &root_ : place_;
    *place = std::move(value);
    return place;
  }

  Json root_;
  std::vector<Json*> open_;  // the lists and objects that have not ended, without those that are left out
  Json* place_ = nullptr;    // of the last key
  size_t depth_ = 0;
  size_t skipped_ = 0;  // the depth of the object of whose last key the value is left out; 0: none is
  bool too_deep_ = false;
  Filter filter_;
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
  if (text.size() > kMaxJsonText) return Failure{Error::kNotSupported, place, "has more than 128 MB of JSON"};
  Builder builder;
  const bool parsed = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  if (builder.too_deep()) {
    return Failure{Error::kNotSupported, place, "its JSON is nested deeper than " + std::to_string(kMaxJsonDepth)};
  }
  if (!parsed) return Failure{Error::kInvalidProgram, place, "is not JSON, or ends too soon"};
  return builder.take();
}

void JsonReader::fail(const std::string& where, const std::string& message) {
  if (!failure_.has_value()) failure_ = Failure{Error::kInvalidProgram, place_, where + ": " + message};
}

const Json& JsonReader::field(const Json& object, const char* name) const { return object[name]; }

std::string JsonReader::text(const Json& value, const std::string& where) {
  if (const std::string* text = value.get_if<std::string>()) return *text;
  fail(where, "expected a text");
  return {};
}

int64_t JsonReader::integer(const Json& value, const std::string& where) {
  if (const int64_t* number = value.get_if<int64_t>()) return *number;
  fail(where, "expected an integer of 64 bits");
  return 0;
}

double JsonReader::number(const Json& value, const std::string& where) {
  if (const double* number = value.get_if<double>()) return *number;
  if (const int64_t* number = value.get_if<int64_t>()) return static_cast<double>(*number);
  if (const uint64_t* number = value.get_if<uint64_t>()) return static_cast<double>(*number);
  if (const std::string* text = value.get_if<std::string>()) {
    if (*text == "Infinity") return HUGE_VAL;
    if (*text == "-Infinity") return -HUGE_VAL;
    if (*text == "NaN") return std::nan("");
  }
  fail(where, "expected a number");
  return 0;
}

bool JsonReader::truth(const Json& value, const std::string& where) {
  if (const bool* truth = value.get_if<bool>()) return *truth;
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
  *content = &value.items()[0].second;
  return value.items()[0].first;
}

}  // namespace berth::pt2
