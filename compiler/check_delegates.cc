#include "compiler/check_delegates.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/backend_facts.h"
#include "base/device.h"
#include "compiler/ir/operators.h"
#include "format/delegate_device.h"
#include "format/nested.h"
#include "format/plan_check/operator_access.h"
#include "format/plan_check/verify_plan.h"
#include "format/tensor_facts.h"
#include "format/verify.h"
#include "format/verify_nested.h"

namespace berth {
namespace {

using format::ProgramView;
using format::Storage;

Failure wrong(std::string place, std::string message) {
  return Failure{Error::kInvalidProgram, std::move(place), std::move(message)};
}

std::string text_of(Device device) { return to_text(device).text; }

/// The tensors among a call's arguments, those in lists included.
template <typename Visit>
void for_each_tensor(const fb::ExecutionPlan& plan, const flatbuffers::Vector<int32_t>& args, Visit&& visit) {
  for (const int32_t arg : args) {
    const fb::EValue& value = *plan.values()->Get(static_cast<uint32_t>(arg));
    const flatbuffers::Vector<int32_t>* items = nullptr;
    if (const auto* list = value.val_as_TensorList()) items = list->items();
    if (const auto* list = value.val_as_OptionalTensorList()) items = list->items();
    for (uint32_t i = 0; i < format::length(items); ++i) {
      if (const fb::Tensor* tensor = format::tensor_at(plan, items->Get(i))) visit(*tensor);
    }
    if (const fb::Tensor* tensor = value.val_as_Tensor()) visit(*tensor);
  }
}

/// `visit` is given the method, the instruction and its place; the first failure ends it.
template <typename Visit>
Status for_each_instruction(const ProgramView& program, Visit&& visit) {
  for (size_t m = 0; m < program.method_count(); ++m) {
    const fb::ExecutionPlan& plan = program.method(m);
    int64_t number = 0;
    for (const fb::Chain* chain : *plan.chains()) {
      for (const fb::Instruction* instruction : *chain->instructions()) {
        BERTH_TRY(visit(plan, *instruction,
                        "methods[" + std::to_string(m) + "].instructions[" + std::to_string(number++) + "]"));
      }
    }
  }
  return Done{};
}

// Kernels.

Status check_kernel(const fb::ExecutionPlan& plan, const fb::KernelCall& call, const std::string& place) {
  const fb::Operator& op = *plan.operators()->Get(static_cast<uint32_t>(call.op_index()));
  const ir::Operator* row = ir::find_out_variant(format::text(op.name()), format::text(op.overload()));
  if (row == nullptr || !row->is_device_copy()) {
    // What an operator on sizes reads is not a byte of the tensor.
    if (std::string_view(format::text(op.name())) == "aten::sym_size") return Done{};
    Device own;
    // Who makes a name of bytes looks at none of them: it is where the bytes are.
    if (format::names_bytes(format::text(op.name()))) {
      for_each_tensor(plan, *call.args(), [&](const fb::Tensor& t) { own = format::tensor_device(t); });
    }
    Device strange = own;
    for_each_tensor(plan, *call.args(), [&](const fb::Tensor& t) {
      if (format::tensor_device(t) != own) strange = format::tensor_device(t);
    });
    if (strange == own) return Done{};
    return wrong(place, std::string(format::text(op.name())) + " is given a tensor on " + text_of(strange));
  }
  const fb::Tensor* from = call.args()->size() < 2 ? nullptr : format::tensor_at(plan, call.args()->Get(0));
  const fb::Tensor* to = call.args()->size() < 2 ? nullptr : format::tensor_at(plan, call.args()->Get(1));
  if (from == nullptr || to == nullptr) return wrong(place, "the copy has no two tensors");
  const bool good = format::tensor_device(*from).is_cpu() != row->copies_from_device() &&
                    format::tensor_device(*to).is_cpu() != row->copies_to_device();
  if (good) return Done{};
  return wrong(place, std::string(format::text(op.name())) + " goes from " + text_of(format::tensor_device(*from)) +
                          " to " + text_of(format::tensor_device(*to)));
}

// Nested programs.

// One side alone may be dynamic: what a scan stacks grows row by row, and is of one size when the loop is done. The
// nested program checks the sizes of each call.
bool same_type(const fb::Tensor& outside, const fb::Tensor& inside) {
  if (outside.scalar_type() != inside.scalar_type()) return false;
  if (outside.sizes()->size() != inside.sizes()->size()) return false;
  for (uint32_t d = 0; d < outside.sizes()->size(); ++d) {
    if (outside.sizes()->Get(d) != inside.sizes()->Get(d)) return false;
    if (outside.dim_order()->Get(d) != inside.dim_order()->Get(d)) return false;
  }
  return true;
}

class Delegates {
 public:
  /// `external`: the keys of constants in data files; null: any.
  Delegates(const ProgramView& program, const std::set<std::string>* external)
      : program_(program), external_(external) {}

  Status check_call(const fb::ExecutionPlan& plan, const fb::DelegateCall& call, const std::string& place) {
    const fb::BackendDelegate& delegate = *plan.delegates()->Get(static_cast<uint32_t>(call.delegate_index()));
    const TargetDevice target = format::target_device(delegate);
    if (target.unregistered()[0] != '\0') return check_unregistered_call(plan, call, target.unregistered(), place);
    if (!target.ok()) return wrong(place, target.message());
    const Device device = target.device();
    Device strange = device;
    for_each_tensor(plan, *call.args(), [&](const fb::Tensor& t) {
      if (format::tensor_device(t) != device) strange = format::tensor_device(t);
    });
    if (strange != device) {
      return wrong(place, "the delegate is on " + text_of(device) + " and is given a tensor on " + text_of(strange));
    }
    const DelegateSpecs specs = format::delegate_specs(delegate);
    if (!runs_nested_programs(format::text(delegate.id())) && !format::is_given_state(plan, specs, *call.args())) {
      return wrong(place, "the delegate keeps " + std::to_string(specs.state) +
                              " bytes of state, which its call is not given; berth compile plans it");
    }
    return check_nested_call(plan, call, place);
  }

  /// A delegate on a device of a type that is not registered here: which number its name stands for is not known, so
  /// its tensors are to be on one device whose number has no name either.
  static Status check_unregistered_call(const fb::ExecutionPlan& plan, const fb::DelegateCall& call, const char* device,
                                        const std::string& place) {
    std::optional<Device> first;
    std::optional<Device> strange;
    for_each_tensor(plan, *call.args(), [&](const fb::Tensor& t) {
      const Device here = format::tensor_device(t);
      if (!first.has_value()) first = here;
      if (to_string(here.type) != nullptr || here != *first) strange = here;
    });
    if (!strange.has_value()) return Done{};
    return wrong(place, std::string("the delegate is on ") + device + " and is given a tensor on " + text_of(*strange));
  }

  /// What a call of a delegate that Berth compiled gives, held against its nested program.
  Status check_nested_call(const fb::ExecutionPlan& plan, const fb::DelegateCall& call, const std::string& place) {
    const fb::BackendDelegate& delegate = *plan.delegates()->Get(static_cast<uint32_t>(call.delegate_index()));
    if (!runs_nested_programs(format::text(delegate.id()))) return Done{};
    BERTH_ASSIGN_OR_RETURN(const fb::ExecutionPlan* const nested, open(delegate, place));
    return check_arguments(plan, call, *nested, place);
  }

  /// The payload of a delegate, whether or not anything calls it.
  Status check_payload(const fb::BackendDelegate& delegate, const std::string& place) {
    if (!runs_nested_programs(format::text(delegate.id()))) return Done{};
    BERTH_ASSIGN_OR_RETURN([[maybe_unused]] const fb::ExecutionPlan* const nested, open(delegate, place));
    return Done{};
  }

 private:
  /// The method of the delegate's nested program, checked by itself; each payload once.
  Expected<const fb::ExecutionPlan*> open(const fb::BackendDelegate& delegate, const std::string& place) {
    Span<const uint8_t> payload;
    if (program_.delegate_payload(delegate, &payload) != Error::kOk) return wrong(place, "the delegate has no payload");
    const auto known = checked_.find(payload.data());
    if (known != checked_.end()) return known->second;
    format::Report report;
    const auto fault = [&] {
      return Failure{report.code, place + ": nested program: " + report.place, report.message};
    };
    uint32_t version = 0;
    const auto file = format::open_nested(payload, &report, &version);
    if (!file.ok()) return fault();
    ProgramView nested;
    if (ProgramView::open(*file, &nested, &report) != Error::kOk) return fault();
    if (format::verify_program(nested, &report) != Error::kOk) return fault();
    std::vector<uint8_t> ports(format::nested_port_bytes(nested));
    if (format::verify_nested(nested, version, ports, &report) != Error::kOk) {
      return Failure{report.code, place + ": " + report.place, report.message};
    }
    std::vector<uint8_t> scratch(format::plan_scratch_bytes(nested, 0));
    if (format::verify_plan(nested, 0, scratch, nullptr, &report) != Error::kOk) return fault();
    const fb::ExecutionPlan& plan = nested.method(0);
    BERTH_TRY(check_constants(plan, place + ": nested program"));
    checked_[payload.data()] = &plan;
    return &plan;
  }

  /// Its constants are data of the program around it.
  Status check_constants(const fb::ExecutionPlan& plan, const std::string& place) const {
    for (uint32_t v = 0; v < plan.values()->size(); ++v) {
      const fb::Tensor* tensor = format::tensor_at(plan, v);
      if (tensor == nullptr || format::storage_of(*tensor) != Storage::kExternalConstant) continue;
      BERTH_TRY(check_constant(*tensor, place + ": values[" + std::to_string(v) + "]"));
    }
    return Done{};
  }

  Status check_constant(const fb::Tensor& tensor, const std::string& place) const {
    const char* key = format::text(tensor.extra_tensor_info()->fully_qualified_name());
    Span<const uint8_t> bytes;
    uint64_t nbytes = 0;
    if (program_.named_data(key, &bytes) != Error::kOk) {
      if (external_ == nullptr || external_->count(key) != 0) return Done{};
      return wrong(place, "its data, \"" + std::string(key) + "\", are not in the program");
    }
    if (format::tensor_nbytes(tensor, &nbytes) && nbytes <= bytes.size()) return Done{};
    return wrong(
        place, "it has " + std::to_string(nbytes) + " bytes, its data \"" + key + "\" " + std::to_string(bytes.size()));
  }

  static Status check_arguments(const fb::ExecutionPlan& plan, const fb::DelegateCall& call,
                                const fb::ExecutionPlan& nested, const std::string& place) {
    std::vector<int32_t> inner(nested.inputs()->begin(), nested.inputs()->end());
    inner.insert(inner.end(), nested.outputs()->begin(), nested.outputs()->end());
    const auto* sizes = nested.non_const_buffer_sizes();
    const uint64_t scratch = sizes->size() < 2 ? 0 : static_cast<uint64_t>(sizes->Get(1));
    const size_t wanted = inner.size() + (scratch > 0 ? 1 : 0);
    if (call.args()->size() != wanted) {
      return wrong(place, "the call has " + std::to_string(call.args()->size()) +
                              " arguments, the nested program wants " + std::to_string(wanted));
    }
    for (uint32_t i = 0; i < inner.size(); ++i) {
      const fb::Tensor* outside = format::tensor_at(plan, call.args()->Get(i));
      const fb::Tensor* inside = format::tensor_at(nested, inner[i]);
      const std::string which = "argument " + std::to_string(i);
      if (outside == nullptr || inside == nullptr) return wrong(place, which + " is not a tensor");
      if (!same_type(*outside, *inside)) return wrong(place, which + " has another type in the nested program");
      // Of the arguments, outputs that hold scratch are the only ones that verify_nested() lets be planned.
      if (format::is_planned(*inside) && !format::is_planned(*outside)) {
        return wrong(place, which + " holds scratch, and is the caller's memory");
      }
    }
    if (scratch == 0) return Done{};
    const int32_t slot = call.args()->Get(call.args()->size() - 1);
    if (std::find(plan.outputs()->begin(), plan.outputs()->end(), slot) != plan.outputs()->end()) {
      return wrong(place, "the scratch of the call, value " + std::to_string(slot) + ", is an output of the method");
    }
    const fb::Tensor* last = format::tensor_at(plan, slot);
    uint64_t nbytes = 0;
    const bool bytes = last != nullptr && last->scalar_type() == fb::ScalarType::BYTE && format::is_planned(*last) &&
                       format::tensor_nbytes(*last, &nbytes);
    if (bytes && nbytes >= scratch) return Done{};
    return wrong(place, "the nested program wants " + std::to_string(scratch) + " bytes of scratch, the call gives " +
                            std::to_string(nbytes));
  }

  const ProgramView& program_;
  const std::set<std::string>* const external_;
  std::map<const uint8_t*, const fb::ExecutionPlan*> checked_;  // by the payload that was checked by itself
};

}  // namespace

Status check_delegates(const ProgramView& program, const std::set<std::string>& external) {
  Delegates delegates(program, &external);
  return for_each_instruction(
      program,
      [&](const fb::ExecutionPlan& plan, const fb::Instruction& instruction, const std::string& place) -> Status {
        if (const auto* call = instruction.instr_args_as_KernelCall()) return check_kernel(plan, *call, place);
        if (const auto* call = instruction.instr_args_as_DelegateCall())
          return delegates.check_call(plan, *call, place);
        return Done{};
      });
}

Status check_payloads(const ProgramView& program) {
  Delegates delegates(program, nullptr);
  for (size_t m = 0; m < program.method_count(); ++m) {
    const auto& list = *program.method(m).delegates();
    for (uint32_t d = 0; d < list.size(); ++d) {
      const std::string place = "methods[" + std::to_string(m) + "].delegates[" + std::to_string(d) + "]";
      BERTH_TRY(delegates.check_payload(*list.Get(d), place));
    }
  }
  return for_each_instruction(
      program,
      [&](const fb::ExecutionPlan& plan, const fb::Instruction& instruction, const std::string& place) -> Status {
        const auto* call = instruction.instr_args_as_DelegateCall();
        return call == nullptr ? Status(Done{}) : delegates.check_nested_call(plan, *call, place);
      });
}

}  // namespace berth
