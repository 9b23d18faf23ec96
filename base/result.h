// Result<T>: a value or an error, never both.
//
//     Result<Program> program = Program::load(loader);
//     if (!program.ok()) return program.error();
//     use(*program);
//
// The second parameter is what a failure carries. The runtime uses the bare code, which needs no heap; the compiler's
// `Expected` (base/failure.h) carries a code, a place and a sentence.
#pragma once

#include <new>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace berth {

template <typename T, typename E = Error>
class [[nodiscard]] Result {
 public:
  // Implicit, so that `return value;` and `return Error::kNotFound;` both read naturally.
  Result(const T& value) : ok_(true) { new (&value_) T(value); }
  Result(T&& value) : ok_(true) { new (&value_) T(std::move(value)); }
  Result(E error) : ok_(false) { new (&error_) E(std::move(error)); }

  Result(Result&& other) noexcept : ok_(other.ok_) {
    if (ok_) {
      new (&value_) T(std::move(other.value_));
    } else {
      new (&error_) E(std::move(other.error_));
    }
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  Result& operator=(Result&&) = delete;

  ~Result() {
    if (ok_) {
      value_.~T();
    } else {
      error_.~E();
    }
  }

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }

  /// REQUIRES: !ok()
  const E& error() const {
    BERTH_CHECK(!ok_);
    return error_;
  }

  /// REQUIRES: ok()
  T& value() & {
    BERTH_CHECK(ok_);
    return value_;
  }
  const T& value() const& {
    BERTH_CHECK(ok_);
    return value_;
  }
  T&& value() && {
    BERTH_CHECK(ok_);
    return std::move(value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  union {
    T value_;
    E error_;
  };
  bool ok_;
};

}  // namespace berth

/// Returns from the enclosing function when `expression` (an Error) is not Ok.
#define BERTH_RETURN_IF_ERROR(expression) \
  do { \
    const ::berth::Error berth_error_ = (expression); \
    if (berth_error_ != ::berth::Error::kOk) return berth_error_; \
  } while (false)

#define BERTH_CONCAT_INNER_(a, b) a##b
#define BERTH_CONCAT_(a, b) BERTH_CONCAT_INNER_(a, b)

/// `BERTH_ASSIGN_OR_RETURN(auto x, f());`: x is f's value, or the enclosing function returns f's error.
#define BERTH_ASSIGN_OR_RETURN(declaration, expression) \
  BERTH_ASSIGN_OR_RETURN_IMPL_(BERTH_CONCAT_(berth_result_, __LINE__), declaration, expression)
#define BERTH_ASSIGN_OR_RETURN_IMPL_(result, declaration, expression) \
  auto result = (expression); \
  if (!result.ok()) return result.error(); \
  declaration = std::move(result).value()
