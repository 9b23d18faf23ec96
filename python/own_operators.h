// Operators of one's own that are written in Python, behind the C interface of plug-ins (plugin/plugin.h).
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "plugin/plugin.h"
#include "runtime/signature.h"

namespace berth::python {

/// One operator. Made with the interpreter's lock, and kept until the process ends.
class OwnOperator {
 public:
  /// From a berth.Operator, whose attributes berth/_plugin.py describes. Raises InvalidArgument for a schema that is
  /// not one.
  explicit OwnOperator(nanobind::handle description);
  OwnOperator(const OwnOperator&) = delete;
  OwnOperator& operator=(const OwnOperator&) = delete;

  const berth_operator* table() const { return &table_; }
  /// Lets go of the functions, when the interpreter ends. A call is an error from then on.
  void forget();

 private:
  void infer(const berth_graph& call, const berth_types& types);
  void compute(const berth_call_argument* arguments, size_t size);
  nanobind::object argument(const berth_call_argument& from, size_t i, nanobind::handle lease) const;
  void give(nanobind::handle answer, const berth_call_argument* arguments, size_t size) const;

  std::string name_;
  std::string schema_;
  std::string out_overload_;
  Signature signature_;
  uint32_t element_types_ = 0;  // bit i: argument i is an element type, which is text in Python
  nanobind::object infer_;
  nanobind::object compute_;
  berth_operator table_ = {};
};

/// The class _berth.GraphScope, which the values that a shape rule is asked about belong to.
void add_own_operators(nanobind::module_& module);

}  // namespace berth::python
