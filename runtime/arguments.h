// Typed arguments of kernels. A KernelEntry's functions get a call's arguments as values in the order of the schema;
// kernels are written on types and names, and untyped<> makes of them what an entry takes:
//
//   // "Tensor self, float factor, Tensor? bias=None -> Tensor out"
//   Error scale_out(KernelContext& context, const Tensor& self, double factor, const Tensor* bias, Tensor& out);
//
//   constexpr KernelEntry kScale = {"my::scale.out", kScaleSchema, untyped<scale_out>};
//
// The types, by the schema's:
//
//   Tensor              const Tensor&, Tensor& for an output or an argument that is written
//   Tensor?             const Tensor*, null for None
//   Tensor[], Tensor?[] TensorList, OptionalTensorList
//   Scalar, Scalar?     const EValue&: is_double(), is_none(), scalar_to<T>()
//   int, float, bool    int64_t, double, bool; ScalarType and MemoryFormat are int64_t, too
//   str                 StringRef
//   int[]               IntList
//   float[], bool[]     Span<const double>, Span<const bool>
//   int?, int[]?, …     std::optional of the type without the question mark
//
// A function may take one structure derived from Arguments instead: kernels/portable/arguments.h has one for every
// operator of format/operators.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/kernel.h"
#include "runtime/value.h"

namespace berth {

/// `value` as T, one of the types above. REQUIRES: the value has the tag of that type; the loader has seen to it.
template <typename T>
T argument_as(EValue& value);

/// A list argument whose elements are read as T. Valid as long as the value that it was made from.
template <typename T>
class ArgumentList {
 public:
  class Iterator {
   public:
    explicit Iterator(EValue* const* at) : at_(at) {}
    T operator*() const { return argument_as<T>(**at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    EValue* const* at_;
  };

  explicit ArgumentList(Span<EValue* const> values) : values_(values) {}

  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  T operator[](size_t i) const { return argument_as<T>(*values_[i]); }
  Iterator begin() const { return Iterator(values_.begin()); }
  Iterator end() const { return Iterator(values_.end()); }

  /// The elements themselves, whatever their tags.
  Span<EValue* const> values() const { return values_; }

 private:
  Span<EValue* const> values_;
};
using IntList = ArgumentList<int64_t>;
using TensorList = ArgumentList<Tensor&>;
using OptionalTensorList = ArgumentList<Tensor*>;

/// The arguments of one call. A structure of typed arguments derives from it and takes one after the other:
///
///   struct ScaleArguments : Arguments {
///     using Arguments::Arguments;
///     const Tensor& self = next<const Tensor&>();
///     double factor = next<double>();
///     Tensor& out = next<Tensor&>();
///   };
class Arguments {
 public:
  explicit Arguments(Span<EValue* const> values) : values_(values) {}

  /// All of them, for a kernel that hands the call on with one of them replaced.
  Span<EValue* const> values() const { return values_; }

 protected:
  template <typename T>
  T next() {
    return argument_as<T>(*values_[next_++]);
  }

 private:
  Span<EValue* const> values_;
  size_t next_ = 0;
};

namespace internal {

template <typename T>
struct ArgumentAs;

template <>
struct ArgumentAs<Tensor&> {
  static Tensor& get(const EValue& value) { return value.tensor(); }
};
template <>
struct ArgumentAs<const Tensor&> : ArgumentAs<Tensor&> {};
template <>
struct ArgumentAs<Tensor*> {
  static Tensor* get(const EValue& value) { return value.is_none() ? nullptr : &value.tensor(); }
};
template <>
struct ArgumentAs<const Tensor*> : ArgumentAs<Tensor*> {};
template <>
struct ArgumentAs<EValue&> {
  static EValue& get(EValue& value) { return value; }
};
template <>
struct ArgumentAs<const EValue&> : ArgumentAs<EValue&> {};
template <>
struct ArgumentAs<int64_t> {
  static int64_t get(const EValue& value) { return value.to_int(); }
};
template <>
struct ArgumentAs<double> {
  static double get(const EValue& value) { return value.scalar_to<double>(); }
};
template <>
struct ArgumentAs<bool> {
  static bool get(const EValue& value) { return value.to_bool(); }
};
template <>
struct ArgumentAs<StringRef> {
  static StringRef get(const EValue& value) { return value.to_string(); }
};
template <>
struct ArgumentAs<Span<const double>> {
  static Span<const double> get(const EValue& value) { return value.doubles(); }
};
template <>
struct ArgumentAs<Span<const bool>> {
  static Span<const bool> get(const EValue& value) { return value.bools(); }
};
template <typename T>
struct ArgumentAs<ArgumentList<T>> {
  static ArgumentList<T> get(const EValue& value) { return ArgumentList<T>(value.items()); }
};
template <typename T>
struct ArgumentAs<std::optional<T>> {
  static std::optional<T> get(EValue& value) {
    return value.is_none() ? std::nullopt : std::optional<T>(ArgumentAs<T>::get(value));
  }
};

inline constexpr char kWrongNumber[] = "the call does not have as many arguments as the kernel has parameters";

template <typename F>
struct Typed;

// On parameters.
template <typename... T>
struct Typed<Error (*)(KernelContext&, T...)> {
  template <auto function, size_t... i>
  static Error call_with(KernelContext& context, Span<EValue* const> args, std::index_sequence<i...>) {
    return function(context, argument_as<T>(*args[i])...);
  }
  template <auto function>
  static Error call(KernelContext& context, Span<EValue* const> args) {
    if (args.size() != sizeof...(T)) return context.fail(Error::kInvalidArgument, kWrongNumber);
    return call_with<function>(context, args, std::index_sequence_for<T...>());
  }
};
// On a structure.
template <typename A>
struct Typed<Error (*)(KernelContext&, const A&)> {
  template <auto function>
  static Error call(KernelContext& context, Span<EValue* const> args) {
    return function(context, A(args));
  }
};
template <typename A>
struct Typed<size_t (*)(const A&, int)> {
  template <auto function>
  static size_t call(Span<EValue* const> args, int threads) {
    return function(A(args), threads);
  }
};
template <typename A>
struct Typed<Error (*)(PrepareContext&, const A&, void**)> {
  template <auto function>
  static Error call(PrepareContext& context, Span<EValue* const> args, void** state) {
    return function(context, A(args), state);
  }
};

}  // namespace internal

template <typename T>
T argument_as(EValue& value) {
  return internal::ArgumentAs<T>::get(value);
}

/// `function` on typed arguments as what a KernelEntry has: a KernelFunction, or of a function on a structure also a
/// TempBytesFunction or a PrepareFunction. REQUIRES: the entry's schema has the function's parameters, in number and
/// types: the loader holds calls to the schema, and nothing holds the schema to the function. Only a wrong number of
/// parameters, in place of a structure, is noticed: each call then fails with InvalidArgument.
template <auto function>
inline constexpr auto untyped = &internal::Typed<decltype(function)>::template call<function>;

}  // namespace berth
