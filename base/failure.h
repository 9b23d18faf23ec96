// Failure: an error of the compiler, with a code, a place and a sentence.
//
//     return Failure{Error::kInvalidArgument, "onnx node \"Conv_12\"", "expected 4 dimensions, found 3"};
//
// The runtime never uses this header, since strings need a heap.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace berth {

struct Failure {
  Error code = Error::kInternal;
  /// Where in the user's input: a node, a line, a field; "ir:14", "program: methods[0].values[7]". May be empty.
  std::string place;
  /// What was expected, what was found, what to try.
  std::string message;

  /// "place: message" or the message alone.
  std::string text() const { return place.empty() ? message : place + ": " + message; }
};

/// A value or a Failure; what every fallible function of the compiler returns.
template <typename T>
using Expected = Result<T, Failure>;

/// For functions that return nothing but success.
struct Done {};
using Status = Expected<Done>;

}  // namespace berth

/// `BERTH_TRY(status_expression);`: returns the Failure from the enclosing function, which returns some Expected<U>.
#define BERTH_TRY(expression) \
  do { \
    auto berth_status_ = (expression); \
    if (!berth_status_.ok()) return berth_status_.error(); \
  } while (false)
