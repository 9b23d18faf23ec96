// Names for things that have no name in a program file.
#pragma once

#include <string>

#include "base/device.h"
#include "format/program_view.h"
#include "runtime/value.h"

namespace berth::tool {

/// `name`, or "in3", "out0" when it is empty.
std::string port_name(const char* name, bool input, size_t index);
/// "cpu", "cuda:0".
std::string device_name(Device device);
/// "tensor", "int", "none"…
const char* tag_name(Tag tag);
/// What the compiler recorded about method `index` of the program; null if it recorded nothing.
const fb::MethodMeta* method_names(const format::ProgramView& program, size_t index);
/// The device of the delegate, in the form of device_name(). REQUIRES: the program was verified.
std::string delegate_device(const fb::ExecutionPlan& method, size_t delegate);
/// The bytes of state that the delegate keeps (base/delegate_specs.h). REQUIRES: the program was verified.
int64_t delegate_state(const fb::ExecutionPlan& method, size_t delegate);

}  // namespace berth::tool
