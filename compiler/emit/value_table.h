// ValueTable: the values of a method in the file; equal literals once.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/write/program_desc.h"

namespace berth::emit {

/// Each function gives the index of a value. Literals are shared between the instructions that use them: nothing
/// writes them. What an instruction writes is made by add().
class ValueTable {
 public:
  /// A value of its own.
  int32_t add(format::ValueDesc value);

  int32_t null();
  int32_t integer(int64_t number);
  int32_t boolean(bool truth);
  int32_t real(double number);
  int32_t text(const std::string& text);
  /// `items` are indices of Int values.
  int32_t int_list(const std::vector<int32_t>& items);
  int32_t real_list(const std::vector<double>& items);
  int32_t bool_list(const std::vector<bool>& items);

  int32_t size() const { return static_cast<int32_t>(values_.size()); }
  format::ValueDesc& operator[](int32_t index) { return values_[index]; }
  std::vector<format::ValueDesc> take() && { return std::move(values_); }

 private:
  int32_t shared(std::string key, format::ValueDesc value);

  std::vector<format::ValueDesc> values_;
  std::unordered_map<std::string, int32_t> literals_;  // a letter for the kind, then the bytes
};

}  // namespace berth::emit
