// JSON records of a `.pt2` archive: a parser with limits, and accessors whose failures have a place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/failure.h"
#include "base/json.h"

namespace berth::pt2 {

/// Parses `text`, UTF-8 of at most 128 MB and 64 levels; InvalidProgram otherwise, with `place`. Parts that Berth does
/// not use (module call graph, sources of nodes other than the stack trace and the module's path) are omitted. Of two
/// members of one name the first is the one.
Expected<Json> parse_json(std::string_view text, const std::string& place);

/// Fields of one JSON document. The first failure is kept; from then on every accessor returns an empty value.
class JsonReader {
 public:
  explicit JsonReader(std::string place) : place_(std::move(place)) {}

  bool ok() const { return !failure_.has_value(); }
  const Failure& failure() const { return *failure_; }
  /// `where` is the path of the wrong field: "nodes[3].target".
  void fail(const std::string& where, const std::string& message);

  /// Field `name` of `object`; null (as JSON has it) when it is absent. `object` may be null as well.
  const Json& field(const Json& object, const char* name) const;
  std::string text(const Json& value, const std::string& where);
  int64_t integer(const Json& value, const std::string& where);
  /// Numbers, and the texts "Infinity", "-Infinity", "NaN".
  double number(const Json& value, const std::string& where);
  bool truth(const Json& value, const std::string& where);
  /// `value` itself when it is a list, an empty list otherwise; null counts as empty.
  const Json& list(const Json& value, const std::string& where);
  const Json& object(const Json& value, const std::string& where);
  /// The only key of a union, its value in `*value`.
  std::string variant(const Json& value, const std::string& where, const Json** content);

 private:
  std::string place_;
  std::optional<Failure> failure_;
};

}  // namespace berth::pt2
