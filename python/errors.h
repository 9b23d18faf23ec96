// Failures of Berth as Python's exceptions: berth.Error and its kinds, with `code`, `place` and `message`.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <string>
#include <utility>

#include "base/failure.h"
#include "format/report.h"
#include "plugin/graph.h"

namespace berth::python {

/// Thrown in functions that Python calls, with or without the interpreter's lock. Becomes what berth._errors.make()
/// gives.
class Raised final : public std::exception {
 public:
  explicit Raised(Failure failure) : failure_(std::move(failure)) {}
  const char* what() const noexcept override { return failure_.message.c_str(); }
  const Failure& failure() const { return failure_; }

 private:
  Failure failure_;
};

[[noreturn]] void raise(Error code, std::string place, std::string message);
/// `fallback` is the place where the report has none.
[[noreturn]] void raise(Error code, const format::Report& report, const std::string& fallback);

template <typename T>
T value_or_raise(Expected<T> result) {
  if (!result.ok()) throw Raised(result.error());
  return std::move(result).value();
}
inline void check(Status status) {
  if (!status.ok()) throw Raised(status.error());
}

/// What an exception of a function of Python's is to the compiler or the runtime that called it: a code, and the
/// sentence "ValueError: takes f32". The berth.Error that comes of it has the exception as its cause; what is not an
/// Exception, such as KeyboardInterrupt, is raised instead of it. REQUIRES: the interpreter's lock.
plugin::Status caught(nanobind::python_error& error);

/// Calls `call`, which runs code of Python's, with the interpreter's lock; what it throws is the status.
template <typename Call>
plugin::Status call_python(Call&& call) {
  const nanobind::gil_scoped_acquire lock;
  try {
    call();
    return {};
  } catch (nanobind::python_error& error) {
    return caught(error);
  } catch (const Raised& raised) {
    const Failure& failure = raised.failure();
    return {static_cast<int32_t>(failure.code), failure.text()};
  } catch (const std::exception& error) {
    return {BERTH_INTERNAL, error.what()};
  }
}

/// Makes Raised an exception of Python.
void add_errors(nanobind::module_& module);

}  // namespace berth::python
