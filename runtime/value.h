// EValue: an entry of a method's value table: a tensor, a number, a string, a list, or None.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/span.h"
#include "runtime/tensor.h"

namespace berth {

class EValue;

enum class Tag : uint8_t {
  kNone,
  kTensor,
  kString,
  kDouble,
  kInt,
  kBool,
  kBoolList,
  kDoubleList,
  kIntList,
  kTensorList,  // also the optional tensor list: an element may be None
};

/// Text inside the mapped program file; not null-terminated.
struct StringRef {
  const char* data = nullptr;
  size_t size = 0;
};

/// An EValue owns nothing; a tensor value points to a Tensor that the Method owns. Lists of integers and tensors point
/// to other values, so that they include sizes computed by earlier instructions.
class EValue {
 public:
  EValue() : tag_(Tag::kNone) {}
  explicit EValue(Tensor* tensor) : tag_(Tag::kTensor) { payload_.tensor = tensor; }
  explicit EValue(StringRef text) : tag_(Tag::kString) { payload_.text = text; }
  explicit EValue(double x) : tag_(Tag::kDouble) { payload_.real = x; }
  explicit EValue(int64_t x) : tag_(Tag::kInt) { payload_.integer = x; }
  explicit EValue(bool x) : tag_(Tag::kBool) { payload_.truth = x; }
  explicit EValue(Span<const bool> items) : tag_(Tag::kBoolList) { payload_.bools = {items.data(), items.size()}; }
  explicit EValue(Span<const double> items) : tag_(Tag::kDoubleList) {
    payload_.doubles = {items.data(), items.size()};
  }
  static EValue int_list(Span<EValue* const> items) { return EValue(Tag::kIntList, items); }
  static EValue tensor_list(Span<EValue* const> items) { return EValue(Tag::kTensorList, items); }

  Tag tag() const { return tag_; }
  bool is_none() const { return tag_ == Tag::kNone; }
  bool is_tensor() const { return tag_ == Tag::kTensor; }
  bool is_int() const { return tag_ == Tag::kInt; }
  bool is_double() const { return tag_ == Tag::kDouble; }
  bool is_bool() const { return tag_ == Tag::kBool; }
  /// Int, Double or Bool: what a `Scalar` argument accepts.
  bool is_scalar() const { return is_int() || is_double() || is_bool(); }

  // Each accessor REQUIRES its tag.
  Tensor& tensor() const {
    BERTH_CHECK(is_tensor());
    return *payload_.tensor;
  }
  StringRef to_string() const {
    BERTH_CHECK(tag_ == Tag::kString);
    return payload_.text;
  }
  int64_t to_int() const {
    BERTH_CHECK(is_int());
    return payload_.integer;
  }
  double to_double() const {
    BERTH_CHECK(is_double());
    return payload_.real;
  }
  bool to_bool() const {
    BERTH_CHECK(is_bool());
    return payload_.truth;
  }
  /// REQUIRES: is_scalar(). The number as T.
  template <typename T>
  T scalar_to() const {
    if (tag_ == Tag::kInt) return static_cast<T>(payload_.integer);
    if (tag_ == Tag::kBool) return static_cast<T>(payload_.truth);
    return static_cast<T>(to_double());
  }
  Span<const bool> bools() const {
    BERTH_CHECK(tag_ == Tag::kBoolList);
    return {payload_.bools.data, payload_.bools.size};
  }
  Span<const double> doubles() const {
    BERTH_CHECK(tag_ == Tag::kDoubleList);
    return {payload_.doubles.data, payload_.doubles.size};
  }
  /// The elements of an integer list (each Int) or of a tensor list (each Tensor, or None where the schema allows).
  Span<EValue* const> items() const {
    BERTH_CHECK(tag_ == Tag::kIntList || tag_ == Tag::kTensorList);
    return {payload_.items.data, payload_.items.size};
  }

 private:
  EValue(Tag tag, Span<EValue* const> items) : tag_(tag) { payload_.items = {items.data(), items.size()}; }

  template <typename T>
  struct List {
    const T* data;
    size_t size;
  };
  union Payload {
    Payload() : integer(0) {}
    Tensor* tensor;
    StringRef text;
    double real;
    int64_t integer;
    bool truth;
    List<bool> bools;
    List<double> doubles;
    List<EValue*> items;
  };

  Payload payload_;
  Tag tag_;
};

}  // namespace berth
