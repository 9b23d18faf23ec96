// Instructions that call kernels, and those that move values.
#include "compiler/import/pte/method_importer.h"
#include "compiler/ir/arguments.h"
#include "compiler/ir/own_operators.h"

namespace berth::pte {
namespace {

using ir::ParameterType;

bool is_null(const fb::EValue& value) { return value.val_type() == fb::KernelTypes::Null; }

}  // namespace

Status MethodImporter::spend(uint64_t steps) {
  if (steps > source_.budget) {
    return Failure{Error::kOutOfResources, "method " + std::string(format::text(plan_.name())),
                   "asks for far more work than the file's size justifies"};
  }
  source_.budget -= steps;
  return Done{};
}

Expected<std::vector<ValueId>> MethodImporter::create(const ir::Operator& op, const std::vector<Argument>& args,
                                                      std::string_view name) {
  ir::Builder build(module_, method_, *graph_);
  auto results = build.create(op, args, "instruction " + std::to_string(instruction_), name);
  if (!results.ok()) {
    learn_from(args);
    Failure failure = results.error();
    return fail(failure.code, failure.place + " " + failure.message);
  }
  return results;
}

Expected<ValueId> MethodImporter::one(OpId op, const std::vector<Argument>& args, std::string_view name) {
  auto results = create(op, args, name);
  if (!results.ok()) return results.error();
  return (*results)[0];
}

Status MethodImporter::import_instruction(const fb::Instruction& instruction) {
  BERTH_TRY(spend(1));
  switch (instruction.instr_args_type()) {
    case fb::InstructionArguments::KernelCall: return import_kernel(*instruction.instr_args_as_KernelCall());
    case fb::InstructionArguments::DelegateCall: return import_delegate(*instruction.instr_args_as_DelegateCall());
    case fb::InstructionArguments::MoveCall: {
      const fb::MoveCall& move = *instruction.instr_args_as_MoveCall();
      operator_ = "MoveCall";
      return import_move(move.move_from(), move.move_to());
    }
    case fb::InstructionArguments::JumpFalseCall:
      return unsupported("jumps in a way that is neither ExecuTorch's cond nor its map");
    default: return Done{};  // FreeCall: bytes that are not read any more
  }
}

Status MethodImporter::import_kernel(const fb::KernelCall& call) {
  const fb::Operator& named = *plan_.operators()->Get(static_cast<uint32_t>(call.op_index()));
  const std::string name = format::text(named.name());
  const std::string overload = format::text(named.overload());
  operator_ = overload.empty() ? name : name + "." + overload;
  const auto& args = *call.args();
  BERTH_TRY(spend(args.size()));
  BERTH_ASSIGN_OR_RETURN(const bool prim, import_prim(operator_, args));
  if (prim) return Done{};
  if (operator_ == "executorch_prim::et_view.default") return import_view(args);
  if (operator_ == "executorch_prim::et_copy_index.tensor") return import_copy_index(args);
  if (operator_ == "aten::copy_") return import_copy(args);
  if (operator_ == "berth::row.write") return import_row(args);
  if (operator_ == "berth::row.read") return unsupported("does not stand at the start of a loop over its rows");
  if (is_copy_within(operator_, args)) {
    BERTH_ASSIGN_OR_RETURN(const ValueId value, read(args.Get(0)));
    return define(args.Get(1), value);
  }
  BERTH_ASSIGN_OR_RETURN(const bool on_cache, import_cache_operator(args));
  if (on_cache) return Done{};
  const ir::Operator* op = ir::find_out_variant(name, overload, module_.operators.get());
  if (op == nullptr) return unsupported("is an operator that Berth does not have; one of your own comes with --plugin");
  return import_operator(*op, args);
}

// Within one device only bytes are copied: who compiles the module decides where values lie.
bool MethodImporter::is_copy_within(const std::string& name, const flatbuffers::Vector<int32_t>& args) const {
  if (name != "berth::_d2d_copy.out" || args.size() < 2) return false;
  const fb::Tensor* from = tensor(args.Get(0));
  const fb::Tensor* to = tensor(args.Get(1));
  return from != nullptr && to != nullptr && format::tensor_device(*from) == format::tensor_device(*to);
}

Status MethodImporter::expand_masks(ValueId of, ir::ValueList* indices) {
  const ir::TensorType* picked = of.valid() ? method_.value(of).tensor() : nullptr;
  const std::vector<Dim> sizes = picked != nullptr ? picked->shape : std::vector<Dim>();
  ir::ValueList all;
  for (const ValueId index : *indices) {
    const ir::TensorType* type = index.valid() ? method_.value(index).tensor() : nullptr;
    const int64_t rank = type != nullptr && type->dtype == DType::kBool ? static_cast<int64_t>(type->shape.size()) : 0;
    if (rank == 0) {
      all.push_back(index);
      continue;
    }
    for (size_t i = 0; i < type->shape.size(); ++i) {
      if (all.size() + i >= sizes.size() || type->shape[i] != sizes[all.size() + i]) {
        return invalid("has a mask of other sizes than what it picks of");
      }
    }
    BERTH_ASSIGN_OR_RETURN(const ValueId rows, one(OpId::nonzero_out, {index}, ""));
    for (int64_t i = 0; i < rank; ++i) {
      BERTH_ASSIGN_OR_RETURN(const ValueId column, one(OpId::select_copy_int_out, {rows, Dim(1), Dim(i)}, ""));
      all.push_back(column);
    }
  }
  *indices = std::move(all);
  return Done{};
}

Status MethodImporter::import_operator(const ir::Operator& op, const flatbuffers::Vector<int32_t>& args) {
  std::vector<Argument> given;
  uint32_t next = 0;
  for (const ir::Parameter& parameter : op.parameters) {
    if (parameter.functional_only) {
      given.push_back(ir::None());
      continue;
    }
    if (next >= args.size()) return invalid("has only " + std::to_string(args.size()) + " arguments");
    BERTH_ASSIGN_OR_RETURN(Argument value, argument(parameter, args.Get(next++)));
    given.push_back(std::move(value));
  }
  if (op.id == OpId::index_Tensor_out) {
    const auto* self = std::get_if<ValueId>(&given[arg::index_Tensor_out::self]);
    auto* indices = std::get_if<ir::ValueList>(&given[arg::index_Tensor_out::indices]);
    if (self != nullptr && indices != nullptr) BERTH_TRY(expand_masks(*self, indices));
  }
  std::vector<Slot> results;
  if (op.writes_self) {
    results.push_back(args.Get(0));
  } else if (op.output_is_list) {
    if (next >= args.size()) return invalid("has no results");
    const fb::TensorList* list = entry(args.Get(next)).val_as_TensorList();
    if (list == nullptr) return invalid("expected a list of tensors as results, found " + slot_text(args.Get(next)));
    BERTH_TRY(spend(list->items()->size()));
    for (int64_t item : *list->items()) results.push_back(static_cast<Slot>(item));
  } else {
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      if (next >= args.size()) return invalid("has only " + std::to_string(args.size()) + " arguments");
      results.push_back(args.Get(next++));
    }
  }
  for (Slot slot : results) {
    if (tensor(slot) == nullptr) return invalid("expected tensors as results, found " + slot_text(slot));
  }
  // Values never change: index_put_ gives a new one.
  OpId functional = op.id == OpId::index_put_self ? OpId::index_put_out : op.id;
  bool made = op.own != nullptr;
  if (!results.empty() && !made) {
    BERTH_ASSIGN_OR_RETURN(made, give_tensors(&functional, &given, declared_type(results[0])));
  }
  for (size_t i = 0; i < op.parameters.size() && !results.empty() && !made; ++i) {
    if (op.parameters[i].functional_only) given[i] = Dim(static_cast<int64_t>(tensor(results[0])->scalar_type()));
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<ValueId> values,
                         create(op.own != nullptr ? op : ir::operator_of(functional), given,
                                results.empty() ? "" : slot_name(results[0])));
  if (values.size() != results.size()) {
    return invalid("gives " + std::to_string(values.size()) + " results, and the file has " +
                   std::to_string(results.size()));
  }
  if (values.size() == 1) BERTH_TRY(bound_by_file(results[0], values[0]));
  for (size_t i = 0; i < values.size(); ++i) {
    method_.value(values[i]).tensor()->device = format::tensor_device(*tensor(results[i]));
    if (i > 0) method_.rename(values[i], slot_name(results[i]));
  }
  if (!values.empty()) {
    const auto source = nodes_.find(results[0]);
    if (source != nodes_.end()) method_.node(method_.value(values[0]).node).source = source->second;
  }
  for (size_t i = 0; i < values.size(); ++i) BERTH_TRY(define(results[i], values[i]));
  return Done{};
}

Expected<Argument> MethodImporter::argument(const ir::Parameter& parameter, Slot slot) {
  const fb::EValue& value = entry(slot);
  if (is_null(value) && numbers_.count(slot) == 0) return Argument(ir::None());
  // What is stored how is Berth's own decision: row-major.
  if (parameter.type == ParameterType::kMemoryFormat || parameter.name == "dim_order") return Argument(ir::None());
  switch (parameter.type) {
    case ParameterType::kTensor: {
      BERTH_ASSIGN_OR_RETURN(const ValueId read_value, read(slot));
      return Argument(read_value);
    }
    case ParameterType::kTensorList:
    case ParameterType::kOptionalTensorList: {
      const flatbuffers::Vector<int32_t>* items = nullptr;
      if (value.val_type() == fb::KernelTypes::TensorList) items = value.val_as_TensorList()->items();
      if (value.val_type() == fb::KernelTypes::OptionalTensorList) items = value.val_as_OptionalTensorList()->items();
      if (items == nullptr) return invalid("expected a list of tensors, found " + slot_text(slot));
      BERTH_TRY(spend(items->size()));
      ir::ValueList list;
      for (int32_t item : *items) {
        const bool none = item < 0 || is_null(entry(item));
        if (none) {
          list.push_back(ValueId());
          continue;
        }
        BERTH_ASSIGN_OR_RETURN(const ValueId one_value, read(item));
        list.push_back(one_value);
      }
      return Argument(std::move(list));
    }
    case ParameterType::kIntList: {
      BERTH_ASSIGN_OR_RETURN(DimList list, int_list(slot));
      return Argument(std::move(list));
    }
    case ParameterType::kFloatList: {
      const fb::DoubleList* list = value.val_as_DoubleList();
      if (list == nullptr) return invalid("expected a list of numbers, found " + slot_text(slot));
      BERTH_TRY(spend(list->items()->size()));
      return Argument(ir::FloatList(list->items()->begin(), list->items()->end()));
    }
    case ParameterType::kBoolList: {
      const fb::BoolList* list = value.val_as_BoolList();
      if (list == nullptr) return invalid("expected a list of truth values, found " + slot_text(slot));
      BERTH_TRY(spend(list->items()->size()));
      ir::BoolList truths;
      for (uint32_t i = 0; i < list->items()->size(); ++i) truths.push_back(list->items()->Get(i) != 0);
      return Argument(std::move(truths));
    }
    case ParameterType::kString: {
      const fb::String* text = value.val_as_String();
      if (text == nullptr) return invalid("expected a text, found " + slot_text(slot));
      return Argument(text->string_val()->str());
    }
    case ParameterType::kScalar:  // operators with a tensor in its place are found later
      if (const ValueId held = number_in_tensor(slot); held.valid()) return Argument(held);
      return number(slot);
    default: return number(slot);
  }
}

// self.copy_(src): from now on self has the contents of src.
Status MethodImporter::import_copy(const flatbuffers::Vector<int32_t>& args) {
  if (args.size() < 3) return invalid("has only " + std::to_string(args.size()) + " arguments");
  const Slot self = args.Get(0);
  BERTH_ASSIGN_OR_RETURN(ValueId value, read(args.Get(1)));
  if (tensor(self) == nullptr) return invalid("expected a tensor as result, found " + slot_text(self));
  const DimList sizes = declared_type(self).shape;
  if (method_.tensor(value).shape != sizes && tensor(self)->shape_dynamism() == fb::TensorShapeDynamism::STATIC) {
    BERTH_ASSIGN_OR_RETURN(value, one(OpId::expand_copy_out, {value, sizes}, slot_name(self)));
  }
  return define(self, value);
}

// executorch_prim::et_view(self, sizes, out): out becomes a name of self's bytes.
Status MethodImporter::import_view(const flatbuffers::Vector<int32_t>& args) {
  if (args.size() < 3) return invalid("has only " + std::to_string(args.size()) + " arguments");
  const Slot self = args.Get(0);
  const Slot out = args.Get(2);
  BERTH_ASSIGN_OR_RETURN(ValueId value, read(self));
  if (tensor(out) == nullptr) return invalid("expected a tensor as result, found " + slot_text(out));
  if (!declared_type(self).dim_order.empty() || !declared_type(out).dim_order.empty()) {
    return unsupported("views a tensor that is not in row-major order");
  }
  BERTH_ASSIGN_OR_RETURN(const DimList sizes, int_list(args.Get(1)));
  BERTH_ASSIGN_OR_RETURN(value, view(value, sizes, slot_name(out)));
  BERTH_TRY(check_type(out, method_.tensor(value)));
  // What a loop carries from row to row: its contents count, wherever they lie.
  if (rows_.count(self) != 0) return define(out, value);
  return name_value(self, out, value);
}

// From now on `to` is another name of what `from` names; `value` is what it sees there.
Status MethodImporter::name_value(Slot from, Slot to, ValueId value) {
  const format::Storage storage = format::storage_of(*tensor(from));
  const bool stored = storage == format::Storage::kConstant || storage == format::Storage::kExternalConstant;
  if ((stored && ranges_.count(from) == 0) || named_.count(from) != 0) {
    named_[to] = value;
    return Done{};
  }
  const ByteRange range = range_of(from);
  const int write = memory_.find(range);
  if (write < 0) {  // no bytes at all: nothing can change them
    named_[to] = value;
    return Done{};
  }
  named_.erase(to);
  ranges_[to] = range;
  views_[{write, to}] = value;
  return Done{};
}

Status MethodImporter::import_move(Slot from, Slot to) {
  const bool tensors = tensor(from) != nullptr && tensor(to) != nullptr;
  if (!tensors) {
    if (tensor(from) != nullptr || tensor(to) != nullptr) return unsupported("moves a tensor to a number");
    BERTH_ASSIGN_OR_RETURN(Argument value, number(from));
    numbers_[to] = std::move(value);
    return Done{};
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId value, read(from));
  moved_.insert(to);
  return name_value(from, to, value);
}

}  // namespace berth::pte
