#include "format/write/print_program.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/dtype.h"
#include "format/nested.h"
#include "format/tensor_facts.h"
#include "format/verify.h"

namespace berth::format {
namespace {

/// Longer lists and strings are truncated: a file may use one long list in every call.
constexpr uint32_t kMaxItems = 64;
constexpr size_t kMaxText = 256;

std::string number(int64_t value) { return std::to_string(value); }

/// The shortest text that parses as the same number and does not look like an integer.
std::string number(double value) {
  char buffer[40];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
    double back = 0;
    if (std::sscanf(buffer, "%lf", &back) == 1 && back == value) break;
  }
  std::string text = buffer;
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

/// In quotes, with unprintable bytes as \xNN, since a file may contain anything.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kMaxText)) {
    if (c == '"' || c == '\\') out += '\\';
    if (c >= ' ' && c < 127) {
      out += c;
      continue;
    }
    char code[8];
    std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(c));
    out += code;
  }
  return out + (text.size() > kMaxText ? "\"…" : "\"");
}

/// Names as they are, unless they contain control characters.
std::string plain(const char* text) {
  const std::string all = quoted(text);
  return all == "\"" + std::string(text) + "\"" ? text : all;
}

std::string device_text(Device device) { return device.is_cpu() ? "cpu" : to_text(device).text; }

std::string bytes_text(uint64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

class Printer {
 public:
  /// Indents lines by `depth` levels; 0 means that this is not a nested program.
  Printer(const ProgramView& program, const PrintOptions& options, int depth)
      : program_(program), options_(options), depth_(depth) {}

  std::string print() {
    for (size_t m = 0; m < program_.method_count(); ++m) method(m);
    return std::move(out_);
  }

 private:
  void line(int depth, const std::string& text) {
    out_.append(2 * static_cast<size_t>(depth_ + depth), ' ');
    out_ += text;
    out_ += '\n';
  }

  void method(size_t index);
  void arenas();
  void delegates();
  void nested(uint32_t delegate, Span<const uint8_t> payload);
  void values();
  void instructions();
  void find_names();
  void find_changes();

  std::string label(int64_t value) const;
  std::string argument(int64_t value) const;
  std::string content(int64_t value) const;
  std::string tensor(const fb::Tensor& tensor) const;
  std::string place(const fb::Tensor& tensor) const;
  /// Prints `item(i)` for each of `count` items.
  template <typename Item>
  std::string list(uint32_t count, Item&& item) const;
  std::string arguments(const flatbuffers::Vector<int32_t>* args) const;
  std::string instruction(const fb::Instruction& instruction) const;

  const ProgramView& program_;
  const PrintOptions& options_;
  const int depth_;
  std::vector<std::pair<const uint8_t*, uint32_t>> printed_;  // payloads that were printed, with their delegates
  const fb::ExecutionPlan* plan_ = nullptr;
  const fb::MethodMeta* meta_ = nullptr;
  std::vector<const char*> names_;
  std::vector<bool> changes_;  // an instruction may change the value
  std::string out_;
};

void Printer::find_names() {
  meta_ = nullptr;
  names_.assign(plan_->values()->size(), nullptr);
  const fb::Meta* meta = program_.meta();
  for (uint32_t i = 0; meta != nullptr && i < length(meta->methods()); ++i) {
    if (std::strcmp(text(meta->methods()->Get(i)->name()), text(plan_->name())) == 0) meta_ = meta->methods()->Get(i);
  }
  for (uint32_t i = 0; meta_ != nullptr && i < length(meta_->values()); ++i) {
    const fb::ValueName& entry = *meta_->values()->Get(i);
    if (text(entry.name())[0] != '\0') names_[entry.value()] = text(entry.name());
  }
}

void Printer::find_changes() {
  changes_.assign(plan_->values()->size(), false);
  for (const fb::Chain* chain : *plan_->chains()) {
    for (const fb::Instruction* instruction : *chain->instructions()) {
      if (const auto* call = instruction->instr_args_as_KernelCall(); call != nullptr && call->args()->size() > 0) {
        const int32_t last = call->args()->Get(call->args()->size() - 1);
        const auto kind = plan_->values()->Get(static_cast<uint32_t>(last))->val_type();
        const bool number =
            kind == fb::KernelTypes::Int || kind == fb::KernelTypes::Bool || kind == fb::KernelTypes::Double;
        if (number) changes_[last] = true;
      }
      if (const auto* move = instruction->instr_args_as_MoveCall()) changes_[move->move_to()] = true;
    }
  }
}

void Printer::method(size_t index) {
  plan_ = &program_.method(index);
  printed_.clear();
  find_names();
  find_changes();
  line(0, "method " + plain(text(plan_->name())));
  for (const int32_t v : *plan_->inputs()) line(1, "in   " + label(v) + ": " + content(v));
  for (const int32_t v : *plan_->outputs()) line(1, "out  " + label(v) + ": " + content(v));
  arenas();
  delegates();
  if (options_.values) values();
  if (options_.instructions) instructions();
}

void Printer::arenas() {
  const auto* sizes = plan_->non_const_buffer_sizes();
  for (uint32_t k = 1; k < sizes->size(); ++k) {
    std::string all = "arena " + number(int64_t{k}) + ": " + bytes_text(static_cast<uint64_t>(sizes->Get(k))) + " on " +
                      device_text(arena_device(*plan_, k));
    for (uint32_t i = 0; meta_ != nullptr && i < length(meta_->stacks()); ++i) {
      const fb::Stack& stack = *meta_->stacks()->Get(i);
      if (stack.memory_id() == k)
        all += " at most, " + std::to_string(length(stack.value_ends())) + " blocks follow the sizes";
    }
    for (uint32_t i = 0; meta_ != nullptr && i < length(meta_->arenas()); ++i) {
      const fb::ArenaPlan& arena = *meta_->arenas()->Get(i);
      if (arena.memory_id() != k) continue;
      if (arena.bank() != nullptr) all += ", bank " + plain(text(arena.bank()));
      if (arena.capacity() > 0) all += " of " + bytes_text(arena.capacity());
      all += ", lower bound " + std::to_string(arena.lower_bound());
      if (arena.lower_bound() == static_cast<uint64_t>(sizes->Get(k))) all += " (optimal)";
    }
    line(1, all);
  }
}

void Printer::delegates() {
  for (uint32_t i = 0; i < plan_->delegates()->size(); ++i) {
    const fb::BackendDelegate& delegate = *plan_->delegates()->Get(i);
    Span<const uint8_t> payload;
    std::string all = "delegate " + number(int64_t{i}) + ": " + plain(text(delegate.id()));
    if (program_.delegate_payload(delegate, &payload) == Error::kOk) all += ", " + bytes_text(payload.size());
    for (uint32_t k = 0; k < length(delegate.compile_specs()); ++k) {
      const fb::CompileSpec& spec = *delegate.compile_specs()->Get(k);
      const size_t size = length(spec.value());
      const char* data = size == 0 ? "" : reinterpret_cast<const char*>(spec.value()->data());
      all += ", " + plain(text(spec.key())) + "=";
      all += size <= 64 ? quoted(std::string(data, size)) : bytes_text(size);
    }
    line(1, all);
    nested(i, payload);
  }
}

/// Prints the payload if it is a nested program: once, even if several delegates share it. Nested programs have no
/// delegates of their own.
void Printer::nested(uint32_t delegate, Span<const uint8_t> payload) {
  const Result<Span<const uint8_t>> file = open_nested(payload, nullptr);
  ProgramView view;
  if (depth_ > 0 || !file.ok() || ProgramView::open(*file, &view, nullptr) != Error::kOk) return;
  if (verify_program(view, nullptr) != Error::kOk) return line(2, "a nested program that is damaged");
  for (const auto& [start, first] : printed_) {
    if (start == payload.data()) return line(2, "the same program as delegate " + number(int64_t{first}));
  }
  printed_.emplace_back(payload.data(), delegate);
  out_ += Printer(view, options_, depth_ + 2).print();
}

std::string Printer::label(int64_t value) const {
  const char* name = names_[value];
  return "%" + number(value) + (name == nullptr ? "" : " " + plain(name));
}

std::string Printer::place(const fb::Tensor& tensor) const {
  uint64_t nbytes = 0;
  tensor_nbytes(tensor, &nbytes);
  std::string text;
  if (is_planned(tensor)) {
    const uint64_t offset = planned_offset(*tensor.allocation_info());
    text = " @ " + number(int64_t{tensor.allocation_info()->memory_id()}) + ":" + std::to_string(offset) + ".." +
           std::to_string(offset + nbytes);
  }
  const std::string size = " (" + bytes_text(nbytes) + ")";
  switch (storage_of(tensor)) {
    case Storage::kConstant: return " = constant " + number(int64_t{tensor.data_buffer_idx()}) + size;
    case Storage::kState: return text + " = initially " + number(int64_t{tensor.data_buffer_idx()});
    case Storage::kExternalConstant:
    case Storage::kExternalState:
      return text + " = external " + quoted(format::text(tensor.extra_tensor_info()->fully_qualified_name()));
    case Storage::kNone: return text + " of the caller";
    case Storage::kPlanned: break;
  }
  return text;
}

std::string Printer::tensor(const fb::Tensor& tensor) const {
  const bool bounded = tensor.shape_dynamism() != fb::TensorShapeDynamism::STATIC;
  std::string all = std::string(to_string(static_cast<DType>(tensor.scalar_type()))) + (bounded ? "[<=" : "[");
  bool contiguous = true;
  std::string order;
  for (uint32_t d = 0; d < tensor.sizes()->size(); ++d) {
    all += (d == 0 ? "" : ",") + number(int64_t{tensor.sizes()->Get(d)});
    order += (d == 0 ? "" : ",") + number(int64_t{tensor.dim_order()->Get(d)});
    contiguous = contiguous && tensor.dim_order()->Get(d) == d;
  }
  all += "]";
  if (!contiguous) all += " order " + order;
  if (!tensor_device(tensor).is_cpu()) all += "@" + device_text(tensor_device(tensor));
  return all + place(tensor);
}

template <typename Item>
std::string Printer::list(uint32_t count, Item&& item) const {
  std::string all = "[";
  for (uint32_t i = 0; i < count && i < kMaxItems; ++i) all += (i == 0 ? "" : ", ") + item(i);
  if (count > kMaxItems) all += ", … " + number(int64_t{count - kMaxItems}) + " more";
  return all + "]";
}

/// A value in full.
std::string Printer::content(int64_t value) const {
  const fb::EValue& entry = *plan_->values()->Get(static_cast<uint32_t>(value));
  switch (entry.val_type()) {
    case fb::KernelTypes::Int: return number(entry.val_as_Int()->int_val());
    case fb::KernelTypes::Bool: return entry.val_as_Bool()->bool_val() ? "true" : "false";
    case fb::KernelTypes::Double: return number(entry.val_as_Double()->double_val());
    case fb::KernelTypes::String: return quoted(entry.val_as_String()->string_val()->str());
    case fb::KernelTypes::Tensor: return tensor(*entry.val_as_Tensor());
    case fb::KernelTypes::IntList: {
      const auto& items = *entry.val_as_IntList()->items();
      return list(items.size(), [&](uint32_t i) { return argument(items.Get(i)); });
    }
    case fb::KernelTypes::TensorList: {
      const auto& items = *entry.val_as_TensorList()->items();
      return list(items.size(), [&](uint32_t i) { return argument(items.Get(i)); });
    }
    case fb::KernelTypes::OptionalTensorList: {
      const auto& items = *entry.val_as_OptionalTensorList()->items();
      return list(items.size(), [&](uint32_t i) { return items.Get(i) < 0 ? "none" : argument(items.Get(i)); });
    }
    case fb::KernelTypes::DoubleList: {
      const auto& items = *entry.val_as_DoubleList()->items();
      return list(items.size(), [&](uint32_t i) { return number(items.Get(i)); });
    }
    case fb::KernelTypes::BoolList: {
      const auto& items = *entry.val_as_BoolList()->items();
      return list(items.size(), [&](uint32_t i) { return std::string(items.Get(i) != 0 ? "true" : "false"); });
    }
    default: return "none";
  }
}

/// A value as an argument: tensors, and values that instructions may change, by their index; others in full.
std::string Printer::argument(int64_t value) const {
  const fb::EValue& entry = *plan_->values()->Get(static_cast<uint32_t>(value));
  const bool by_number = entry.val_type() == fb::KernelTypes::Tensor || changes_[value];
  return by_number ? label(value) : content(value);
}

std::string Printer::arguments(const flatbuffers::Vector<int32_t>* args) const {
  std::string all = "(";
  for (uint32_t i = 0; i < args->size(); ++i) all += (i == 0 ? "" : ", ") + argument(args->Get(i));
  return all + ")";
}

void Printer::values() {
  line(1, "values");
  for (uint32_t v = 0; v < plan_->values()->size(); ++v) line(2, label(v) + ": " + content(v));
}

std::string Printer::instruction(const fb::Instruction& instruction) const {
  if (const auto* call = instruction.instr_args_as_KernelCall()) {
    const fb::Operator& op = *plan_->operators()->Get(static_cast<uint32_t>(call->op_index()));
    const std::string overload = text(op.overload());
    return plain(text(op.name())) + (overload.empty() ? "" : "." + plain(overload.c_str())) + arguments(call->args());
  }
  if (const auto* call = instruction.instr_args_as_DelegateCall()) {
    return "delegate " + number(int64_t{call->delegate_index()}) + arguments(call->args());
  }
  if (const auto* move = instruction.instr_args_as_MoveCall()) {
    return "%" + number(int64_t{move->move_to()}) + " is " + argument(move->move_from());
  }
  const auto* jump = instruction.instr_args_as_JumpFalseCall();
  return "jump to " + number(int64_t{jump->destination_instruction()}) + " unless %" +
         number(int64_t{jump->cond_value_index()});
}

void Printer::instructions() {
  line(1, "instructions");
  for (uint32_t c = 0; c < plan_->chains()->size(); ++c) {
    if (plan_->chains()->size() > 1) line(2, "chain " + number(int64_t{c}));
    const auto& list = *plan_->chains()->Get(c)->instructions();
    for (uint32_t i = 0; i < list.size(); ++i) line(2, number(int64_t{i}) + ": " + instruction(*list.Get(i)));
  }
}

}  // namespace

std::string print_program(const ProgramView& program, const PrintOptions& options) {
  return Printer(program, options, 0).print();
}

}  // namespace berth::format
