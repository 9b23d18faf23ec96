#include "compiler/emit/value_table.h"

namespace berth::emit {
namespace {

template <typename T>
void append_bytes(const T& item, std::string* key) {
  key->append(reinterpret_cast<const char*>(&item), sizeof item);
}

}  // namespace

int32_t ValueTable::add(format::ValueDesc value) {
  values_.push_back(std::move(value));
  return static_cast<int32_t>(values_.size() - 1);
}

int32_t ValueTable::shared(std::string key, format::ValueDesc value) {
  const auto [it, fresh] = literals_.emplace(std::move(key), size());
  if (fresh) values_.push_back(std::move(value));
  return it->second;
}

int32_t ValueTable::null() { return shared("n", format::NullDesc{}); }

int32_t ValueTable::integer(int64_t number) {
  std::string key = "i";
  append_bytes(number, &key);
  return shared(std::move(key), number);
}

int32_t ValueTable::boolean(bool truth) { return shared(truth ? "bt" : "bf", truth); }

int32_t ValueTable::real(double number) {
  std::string key = "d";
  append_bytes(number, &key);
  return shared(std::move(key), number);
}

int32_t ValueTable::text(const std::string& text) { return shared("s" + text, text); }

int32_t ValueTable::int_list(const std::vector<int32_t>& items) {
  std::string key = "I";
  format::IntListDesc list;
  for (const int32_t item : items) {
    append_bytes(item, &key);
    list.items.push_back(item);
  }
  return shared(std::move(key), std::move(list));
}

int32_t ValueTable::real_list(const std::vector<double>& items) {
  std::string key = "D";
  for (const double item : items) append_bytes(item, &key);
  return shared(std::move(key), format::DoubleListDesc{items});
}

int32_t ValueTable::bool_list(const std::vector<bool>& items) {
  std::string key = "B";
  for (const bool item : items) key += item ? 't' : 'f';
  return shared(std::move(key), format::BoolListDesc{items});
}

}  // namespace berth::emit
