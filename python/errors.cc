#include "python/errors.h"

#include <optional>
#include <utility>

namespace nb = nanobind;

namespace berth::python {

void raise(Error code, std::string place, std::string message) {
  throw Raised(Failure{code, std::move(place), std::move(message)});
}

void raise(Error code, const format::Report& report, const std::string& fallback) {
  if (report.code == Error::kOk) raise(code, fallback, to_string(code));
  raise(report.code, report.place[0] == '\0' ? fallback : report.place, report.message);
}

namespace {

// Bytes that are not UTF-8, from a file, are shown as they can be.
nb::object text_of(const std::string& text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

/// An exception that is on its way through the compiler or the runtime as a code and a sentence. Guarded by the
/// interpreter's lock.
struct Cause {
  nb::object exception;
  std::string sentence;
};
std::optional<Cause>& last_cause() {
  static auto* const cause = new std::optional<Cause>;
  return *cause;
}

/// The exception that `failure` comes from; invalid if there is none.
nb::object take_cause(const Failure& failure) {
  const std::optional<Cause> cause = std::exchange(last_cause(), std::nullopt);
  const bool is_its = cause.has_value() && failure.message.find(cause->sentence) != std::string::npos;
  return is_its ? cause->exception : nb::object();
}

void set_error(const Failure& failure) {
  try {
    const nb::object cause = take_cause(failure);
    if (cause.is_valid() && PyObject_IsInstance(cause.ptr(), PyExc_Exception) == 0) {
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(cause.ptr())), cause.ptr());
      return;
    }
    const nb::object make = nb::module_::import_("berth._errors").attr("make");
    const nb::object error = make(to_string(failure.code), text_of(failure.place), text_of(failure.message));
    if (cause.is_valid()) PyException_SetCause(error.ptr(), nb::object(cause).release().ptr());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  } catch (nb::python_error& other) {
    other.restore();
  }
}

}  // namespace

plugin::Status caught(nb::python_error& error) {
  // Plug-ins have this much room for a sentence.
  constexpr size_t kMost = sizeof(berth_message::text) - 1;
  std::string sentence = std::string(nb::type_name(error.type()).c_str()) + ": " + nb::str(error.value()).c_str();
  if (sentence.size() > kMost) sentence.resize(kMost);
  // The frames' variables may be arrays over memory of the program's, which does not outlive the call.
  if (error.traceback().is_valid()) nb::module_::import_("traceback").attr("clear_frames")(error.traceback());
  last_cause() = Cause{nb::borrow(error.value()), sentence};
  const auto is = [&](PyObject* type) { return error.matches(type); };
  int32_t code = BERTH_INTERNAL;
  if (is(PyExc_NotImplementedError)) code = BERTH_NOT_SUPPORTED;
  if (is(PyExc_ValueError) || is(PyExc_TypeError)) code = BERTH_INVALID_ARGUMENT;
  if (is(PyExc_LookupError)) code = BERTH_NOT_FOUND;
  if (is(PyExc_MemoryError)) code = BERTH_MEMORY_ALLOCATION_FAILED;
  return {code, std::move(sentence)};
}

void add_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Raised& raised) {
      set_error(raised.failure());
    }
  });
}

}  // namespace berth::python
