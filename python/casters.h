// Texts, lists, pairs and shares from Python and back. nanobind has casters of them, which are noexcept: a failed
// allocation in one ends the process. These throw std::bad_alloc, which nanobind makes a MemoryError of. Include
// nothing of nanobind/stl that has the same types.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nanobind::detail {

template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  bool from_python(handle source, uint32_t, cleanup_list*) {
    if (!PyUnicode_Check(source.ptr())) return false;
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(source.ptr(), &size);
    if (text == nullptr) {
      PyErr_Clear();
      return false;
    }
    value.assign(text, text + size);
    return true;
  }

  static handle from_cpp(const std::string& text, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  }
};

/// From any sequence but texts and bytes.
template <typename T>
struct type_caster<std::vector<T>> {
  using Item = make_caster<T>;
  NB_TYPE_CASTER(std::vector<T>,
                 io_name("collections.abc.Sequence", "list") + const_name("[") + Item::Name + const_name("]"))

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) {
    value.clear();
    PyObject* const list = source.ptr();
    if (PyUnicode_Check(list) || PyBytes_Check(list) || !PySequence_Check(list)) return false;
    const Py_ssize_t size = PySequence_Size(list);
    for (Py_ssize_t i = 0; i < size; ++i) {
      const object item = steal(PySequence_GetItem(list, i));
      Item caster;
      if (!item.is_valid() || !caster.from_python(item, static_cast<uint8_t>(flags), cleanup)) break;
      value.push_back(caster.operator cast_t<T>());
    }
    if (PyErr_Occurred() != nullptr) PyErr_Clear();
    return size >= 0 && value.size() == static_cast<size_t>(size);
  }

  static handle from_cpp(const std::vector<T>& items, rv_policy policy, cleanup_list* cleanup) noexcept {
    object list = steal(PyList_New(static_cast<Py_ssize_t>(items.size())));
    if (!list.is_valid()) return {};
    Py_ssize_t next = 0;
    for (const T& item : items) {
      const handle made = Item::from_cpp(item, policy, cleanup);
      if (!made.is_valid()) return {};
      PyList_SetItem(list.ptr(), next++, made.ptr());
    }
    return list.release();
  }
};

/// From a sequence of two.
template <typename A, typename B>
struct type_caster<std::pair<A, B>> {
  using First = make_caster<A>;
  using Second = make_caster<B>;
  using Value = std::pair<A, B>;
  static constexpr auto Name = const_name("tuple[") + concat(First::Name, Second::Name) + const_name("]");
  template <typename T>
  using Cast = Value;
  template <typename T>
  static constexpr bool can_cast() {
    return true;
  }
  explicit operator Value() { return std::move(value); }

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) {
    PyObject* const list = source.ptr();
    if (PyUnicode_Check(list) || PyBytes_Check(list) || !PySequence_Check(list) || PySequence_Size(list) != 2) {
      PyErr_Clear();
      return false;
    }
    const object first = steal(PySequence_GetItem(list, 0));
    const object second = steal(PySequence_GetItem(list, 1));
    First a;
    Second b;
    if (!first.is_valid() || !second.is_valid() || !a.from_python(first, static_cast<uint8_t>(flags), cleanup) ||
        !b.from_python(second, static_cast<uint8_t>(flags), cleanup)) {
      PyErr_Clear();
      return false;
    }
    value = {a.operator cast_t<A>(), b.operator cast_t<B>()};
    return true;
  }

  static handle from_cpp(const Value& pair, rv_policy policy, cleanup_list* cleanup) noexcept {
    const object first = steal(First::from_cpp(pair.first, policy, cleanup));
    const object second = steal(Second::from_cpp(pair.second, policy, cleanup));
    if (!first.is_valid() || !second.is_valid()) return {};
    return PyTuple_Pack(2, first.ptr(), second.ptr());
  }

  Value value;
};

/// A share in an object of Python's, which lives at least as long: type_caster<std::shared_ptr<T>> derives from it.
/// There is no way back: what is new comes to Python as a std::unique_ptr.
template <typename T>
struct share_caster {
  static constexpr bool IsClass = true;
  using Caster = make_caster<T>;
  NB_TYPE_CASTER(std::shared_ptr<T>, Caster::Name)

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) {
    Caster caster;
    if (!caster.from_python(source, static_cast<uint8_t>(flags & ~static_cast<uint32_t>(cast_flags::convert)),
                            cleanup)) {
      return false;
    }
    T* const object = caster.operator T*();
    if (object == nullptr) {
      value = nullptr;
      return true;
    }
    // The deleter runs too if the share cannot be made.
    value = std::shared_ptr<T>(object, [self = source.inc_ref().ptr()](T*) { Py_DECREF(self); });
    return true;
  }
};

}  // namespace nanobind::detail
