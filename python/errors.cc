#include "python/errors.h"

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

void set_error(const Failure& failure) {
  try {
    const nb::object make = nb::module_::import_("berth._errors").attr("make");
    const nb::object error = make(to_string(failure.code), text_of(failure.place), text_of(failure.message));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  } catch (nb::python_error& other) {
    other.restore();
  }
}

}  // namespace

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
