// Json: a JSON value: what is read from archives, and what reports are made of. Taking one apart allocates nothing, and
// a copy that fails leaves nothing behind, which no library that was tried holds to.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/none.h"

namespace berth {

/// A braced list is an object if each of its items is a list of two that begins with a text, and else a list:
///     Json made = {{"name", "x"}, {"shape", {1, 3}}};
class Json {
 public:
  using List = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in the order in which its members came

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Json(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      value_ = value;
    } else if constexpr (std::is_floating_point_v<T>) {
      value_ = static_cast<double>(value);
    } else if (value < 0 || static_cast<uint64_t>(value) <= static_cast<uint64_t>(INT64_MAX)) {
      value_ = static_cast<int64_t>(value);
    } else {
      value_ = static_cast<uint64_t>(value);
    }
  }
  template <typename T>
  Json(const std::vector<T>& items) : value_(List(items.begin(), items.end())) {}
  Json(std::initializer_list<Json> items);

  static Json array(std::initializer_list<Json> items = {});
  static Json object();

  bool is_null() const { return std::holds_alternative<None>(value_); }
  bool is_array() const { return std::holds_alternative<List>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }

  /// The value of this type, null for any other: bool, int64_t, uint64_t (beyond int64_t alone), double, std::string.
  template <typename T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  /// The text, truth or number that it is. REQUIRES: it is one, of a kind that T holds.
  template <typename T>
  T get() const {
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, bool>) {
      return *get_if<T>();
    } else if (const double* const real = get_if<double>()) {
      return static_cast<T>(*real);
    } else {
      const int64_t* const number = get_if<int64_t>();
      return static_cast<T>(number == nullptr ? *get_if<uint64_t>() : *number);
    }
  }

  /// Of lists; of everything else there are none. The items go when something is added to the list.
  const Json* begin() const;
  const Json* end() const;
  Json* begin();
  Json* end();
  const Json& operator[](size_t index) const { return begin()[index]; }
  Json& operator[](size_t index) { return begin()[index]; }
  Json& back() { return end()[-1]; }
  /// How many items or members it has.
  size_t size() const;
  /// Makes null a list. REQUIRES: it is one or null.
  void push_back(Json item);

  /// Of objects; of everything else there are none.
  const Object& items() const;
  /// The first member of this name; null if there is none.
  const Json* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// The same, or JSON's null.
  const Json& operator[](std::string_view name) const;
  /// The member of this name, made if there is none. Makes null an object. REQUIRES: it is one or null.
  Json& operator[](std::string_view name);
  /// Adds a member without a look at the others.
  Json& append(std::string name, Json value);
  void erase(std::string_view name);
  /// Sets all members of `other`.
  void update(const Json& other);

  /// On one line. Invalid UTF-8 becomes U+FFFD; what is not finite, null.
  std::string text() const;

  friend bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }
  friend bool operator!=(const Json& a, const Json& b) { return !(a == b); }

 private:
  void append_to(std::string& text) const;

  std::variant<None, bool, int64_t, uint64_t, double, std::string, List, Object> value_;
};

}  // namespace berth
