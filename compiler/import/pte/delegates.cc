// Calls of what another compiler made: taken over with payload and compile specs.
#include <algorithm>

#include "base/backend_facts.h"
#include "compiler/import/pte/method_importer.h"
#include "compiler/ir/print.h"
#include "format/delegate_device.h"
#include "format/nested.h"
#include "format/verify.h"

namespace berth::pte {

// A nested program says how many inputs it has.
Expected<MethodImporter::NestedPorts> MethodImporter::count_nested_ports(int32_t index) {
  const auto known = nested_ports_.find(index);
  if (known != nested_ports_.end()) return known->second;
  Span<const uint8_t> payload;
  format::Report report;
  format::ProgramView nested;
  const fb::BackendDelegate& delegate = *plan_.delegates()->Get(static_cast<uint32_t>(index));
  if (source_.program.delegate_payload(delegate, &payload) != Error::kOk) {
    return invalid("the file does not contain the payload of delegate " + std::to_string(index));
  }
  BERTH_TRY(spend(payload.size() / 64));
  const auto fault = [&] {
    const std::string place = "methods[" + std::to_string(method_index_) + "].delegates[" + std::to_string(index) + "]";
    return Failure{report.code, place + ": nested program: " + report.place, report.message};
  };
  const auto bytes = format::open_nested(payload, &report);
  if (!bytes.ok() || format::verify_program(*bytes, &report) != Error::kOk) return fault();
  if (format::ProgramView::open(*bytes, &nested, &report) != Error::kOk || nested.method_count() != 1) {
    return invalid("the payload of delegate " + std::to_string(index) + " is not one method");
  }
  const fb::ExecutionPlan& method = nested.method(0);
  return nested_ports_[index] = {format::length(method.inputs()), format::length(method.outputs())};
}

// Results are the last arguments that nothing wrote before, and that are neither inputs nor constants.
Expected<uint32_t> MethodImporter::count_inputs(const flatbuffers::Vector<int32_t>& args) {
  std::set<Slot> written;
  for (const Write& write : writes_) written.insert(write.slot);
  uint32_t first = args.size();
  while (first > 0) {
    const Slot slot = args.Get(first - 1);
    const fb::Tensor* t = tensor(slot);
    if (t == nullptr || inputs_.count(slot) != 0 || written.count(slot) != 0) break;
    if (ranges_.count(slot) != 0 || named_.count(slot) != 0) break;  // a name of what was there
    const format::Storage storage = format::storage_of(*t);
    if (storage != format::Storage::kPlanned && storage != format::Storage::kNone) break;
    --first;
  }
  if (first == args.size()) return unsupported("calls a delegate that gives no results of its own");
  return first;
}

Expected<ir::DelegateId> MethodImporter::delegate_of(int32_t index) {
  const auto known = delegates_.find(index);
  if (known != delegates_.end()) return known->second;
  const fb::BackendDelegate& from = *plan_.delegates()->Get(static_cast<uint32_t>(index));
  ir::Delegate delegate;
  delegate.backend = format::text(from.id());
  delegate.name = delegate.backend + "_" + std::to_string(module_.delegates.size());
  for (uint32_t i = 0; i < format::length(from.compile_specs()); ++i) {
    const fb::CompileSpec& spec = *from.compile_specs()->Get(i);
    ir::CompileSpec copy;
    copy.key = format::text(spec.key());
    if (spec.value() != nullptr) copy.value.assign(spec.value()->begin(), spec.value()->end());
    delegate.specs.push_back(std::move(copy));
  }
  Span<const uint8_t> payload;
  if (source_.program.delegate_payload(from, &payload) != Error::kOk) {
    return invalid("the file does not contain the payload of delegate " + std::to_string(index));
  }
  if (source_.file != nullptr && !payload.empty()) {
    const size_t offset = payload.data() - source_.file->bytes().data();
    delegate.payload = ir::Blob::mapped(source_.file, offset, payload.size());
  } else {
    delegate.payload = ir::Blob::owned({payload.begin(), payload.end()});
  }
  const ir::DelegateId id = module_.delegates.next_id();
  module_.delegates.push_back(std::move(delegate));
  delegates_[index] = id;
  return id;
}

Status MethodImporter::check_is_tensor(Slot slot) const {
  if (tensor(slot) != nullptr) return Done{};
  return unsupported("gives a delegate " + slot_text(slot) + ", which is not a tensor");
}

// A nested program was made for the sizes in the file; the program around it is made anew by those of `type`.
Status MethodImporter::check_sizes(Slot slot, const ir::TensorType& type) const {
  const auto& sizes = *tensor(slot)->sizes();
  bool same = sizes.size() == type.shape.size();
  for (uint32_t d = 0; same && d < sizes.size(); ++d) same = module_.symbols.upper(type.shape[d]) == sizes.Get(d);
  if (same) return Done{};
  return unsupported("gives a delegate " + slot_text(slot) + " as " + ir::print(ir::Type(type), module_.symbols) +
                     "; the file bounds its sizes differently");
}

// Whether the last argument of a call is the scratch that the delegate's specs ask for (base/delegate_specs.h).
bool MethodImporter::ends_in_scratch(int32_t delegate, const flatbuffers::Vector<int32_t>& args) const {
  const int64_t scratch = format::delegate_specs(*plan_.delegates()->Get(static_cast<uint32_t>(delegate))).scratch;
  const fb::Tensor* t = args.size() == 0 ? nullptr : tensor(args.Get(args.size() - 1));
  return scratch > 0 && t != nullptr && t->scalar_type() == fb::ScalarType::BYTE && t->sizes()->size() == 1 &&
         t->sizes()->Get(0) == scratch;
}

/// The arguments that hold other numbers after the call. Scratch does too, but nothing reads it.
Expected<MethodImporter::Positions> MethodImporter::changed_arguments(const fb::DelegateCall& call) {
  const int32_t index = call.delegate_index();
  const auto& args = *call.args();
  if (!runs_nested_programs(format::text(plan_.delegates()->Get(static_cast<uint32_t>(index))->id()))) {
    return Positions{0, args.size() - (ends_in_scratch(index, args) ? 1 : 0)};
  }
  BERTH_ASSIGN_OR_RETURN(const NestedPorts ports, count_nested_ports(index));
  const uint32_t begin = std::min(ports.inputs, args.size());
  return Positions{begin, begin + std::min(ports.outputs, args.size() - begin)};
}

Status MethodImporter::import_delegate(const fb::DelegateCall& call) {
  const int32_t index = call.delegate_index();
  const char* backend = format::text(plan_.delegates()->Get(static_cast<uint32_t>(index))->id());
  operator_ = std::string("DelegateCall ") + backend;
  const auto& args = *call.args();
  const bool own = runs_nested_programs(backend);
  BERTH_TRY(spend(args.size() + writes_.size()));
  uint32_t first = 0;
  if (own) {
    BERTH_ASSIGN_OR_RETURN(const NestedPorts ports, count_nested_ports(index));
    first = ports.inputs;
  } else {
    BERTH_ASSIGN_OR_RETURN(first, count_inputs(args));
  }
  if (first >= args.size()) return unsupported("calls a delegate that gives no results of its own");
  ir::ValueList inputs;
  for (uint32_t i = 0; i < first; ++i) {
    BERTH_TRY(check_is_tensor(args.Get(i)));
    BERTH_ASSIGN_OR_RETURN(ValueId value, read(args.Get(i)));
    const ir::TensorType declared = declared_type(args.Get(i));
    BERTH_ASSIGN_OR_RETURN(value, in_order(value, declared.dim_order, slot_name(args.Get(i))));
    if (own) BERTH_TRY(check_sizes(args.Get(i), method_.tensor(value)));
    inputs.push_back(value);
  }
  std::vector<Slot> slots;
  std::vector<ir::Type> types;
  // The scratch that its maker asked for is not a result: the program that is made of this one has its own.
  const uint32_t last = args.size() - (!own && ends_in_scratch(index, args) && args.size() > first + 1 ? 1 : 0);
  for (uint32_t i = first; i < last; ++i) {
    const Slot slot = args.Get(i);
    BERTH_TRY(check_is_tensor(slot));
    ir::TensorType type = declared_type(slot);
    if (tensor(slot)->shape_dynamism() != fb::TensorShapeDynamism::STATIC) {
      for (size_t d = 0; d < type.shape.size(); ++d) {  // sizes that only the delegate knows are symbols of their own
        BERTH_ASSIGN_OR_RETURN(type.shape[d], input_size(kMadeHere + slot, slot, static_cast<int>(d)));
      }
    }
    if (own) BERTH_TRY(check_sizes(slot, type));
    if (std::find(slots.begin(), slots.end(), slot) != slots.end())
      return invalid("gives " + slot_text(slot) + " twice");
    slots.push_back(slot);
    types.emplace_back(std::move(type));
  }
  BERTH_ASSIGN_OR_RETURN(const ir::DelegateId id, delegate_of(index));
  BERTH_ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                         append(OpId::delegate, {inputs}, {}, std::move(types), slots, id));
  // The last one may be a scratch in which others lie.
  for (size_t i = slots.size(); i-- > 0;) BERTH_TRY(define(slots[i], results[i]));
  return Done{};
}

}  // namespace berth::pte
