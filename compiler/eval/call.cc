#include "compiler/eval/call.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/math.h"
#include "kernels/portable/portable.h"

namespace berth::eval {
namespace {

// A Tensor with the arrays that it points to.
struct HostTensor {
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<int64_t> strides;
  Tensor tensor;

  HostTensor(DType dtype, std::vector<int32_t> s, std::vector<uint8_t> order, void* data, ShapeDynamism dynamism)
      : sizes(std::move(s)), dim_order(std::move(order)), strides(sizes.size()) {
    if (dim_order.empty()) {
      for (size_t i = 0; i < sizes.size(); ++i) dim_order.push_back(static_cast<uint8_t>(i));
    }
    tensor =
        Tensor(dtype, static_cast<int>(sizes.size()), sizes.data(), dim_order.data(), strides.data(), data, dynamism);
  }
};

const KernelEntry* find_kernel(const ir::Operator& op) {
  // Never destroyed, so that no order of destruction matters.
  static const auto* const kByName = [] {
    auto* map = new std::unordered_map<std::string, const KernelEntry*>;
    const KernelTable table = portable::kernels();
    for (const KernelEntry& entry : table) map->emplace(entry.name, &entry);
    return map;
  }();
  std::string name(op.name);
  if (!op.out_overload.empty()) name.append(".").append(op.out_overload);
  const auto found = kByName->find(name);
  return found == kByName->end() ? nullptr : found->second;
}

class Call {
 public:
  Call(const ir::Method& method, const ir::Node& node, Binding& binding,
       const std::function<Operand(ir::ValueId)>& operand_of, int64_t max_bytes)
      : method_(method), node_(node), binding_(binding), operand_of_(operand_of), left_(max_bytes) {}

  Expected<std::vector<Array>> run() {
    const KernelEntry* kernel = find_kernel(*node_.op);
    if (kernel == nullptr) return fail(Error::kOperatorMissing, "has no portable kernel");
    for (size_t i = 0; i < node_.args.size(); ++i) {
      if (node_.op->parameters[i].functional_only) continue;
      BERTH_ASSIGN_OR_RETURN(EValue* const value, argument(node_.args[i]));
      args_.push_back(value);
    }
    BERTH_TRY(node_.op->writes_self ? own_self() : outputs());
    BERTH_TRY(invoke(*kernel));
    return results();
  }

 private:
  Failure fail(Error code, const std::string& message) const {
    return Failure{code, node_.op->functional_name, message};
  }

  EValue* add(EValue value) {
    values_.push_back(value);
    return &values_.back();
  }

  Expected<int64_t> number(ir::Dim dim) const {
    int64_t out = 0;
    if (binding_.find(dim, &out)) return out;
    return fail(Error::kInvalidArgument, "the size " + binding_.symbols().text(dim) + " is not known");
  }

  Expected<EValue*> value(ir::ValueId id) {
    if (!id.valid()) return add(EValue());
    const Operand operand = operand_of_(id);
    if (const int64_t* whole = std::get_if<int64_t>(&operand)) return add(EValue(*whole));
    if (const double* real = std::get_if<double>(&operand)) return add(EValue(*real));
    if (const bool* truth = std::get_if<bool>(&operand)) return add(EValue(*truth));
    const View& view = std::get<View>(operand);
    // Kernels write to their outputs alone; self of copy_ gets memory of its own in own_self().
    tensors_.emplace_back(view.dtype, view.sizes, view.dim_order, const_cast<uint8_t*>(view.data),
                          ShapeDynamism::kStatic);
    return add(EValue(&tensors_.back().tensor));
  }

  Span<EValue* const> keep(std::vector<EValue*> items) {
    lists_.push_back(std::move(items));
    return lists_.back();
  }

  Expected<EValue*> argument(const ir::Argument& a) {
    if (const auto* id = std::get_if<ir::ValueId>(&a)) return value(*id);
    if (const auto* dim = std::get_if<ir::Dim>(&a)) {
      BERTH_ASSIGN_OR_RETURN(const int64_t n, number(*dim));
      return add(EValue(n));
    }
    std::vector<EValue*> items;
    if (const auto* list = std::get_if<ir::ValueList>(&a)) {
      for (ir::ValueId id : *list) {
        BERTH_ASSIGN_OR_RETURN(EValue* const item, value(id));
        items.push_back(item);
      }
      return add(EValue::tensor_list(keep(std::move(items))));
    }
    if (const auto* list = std::get_if<ir::DimList>(&a)) {
      for (ir::Dim dim : *list) {
        BERTH_ASSIGN_OR_RETURN(const int64_t n, number(dim));
        items.push_back(add(EValue(n)));
      }
      return add(EValue::int_list(keep(std::move(items))));
    }
    if (const auto* real = std::get_if<double>(&a)) return add(EValue(*real));
    if (const auto* truth = std::get_if<bool>(&a)) return add(EValue(*truth));
    // The node's own arguments outlive the call.
    if (const auto* text = std::get_if<std::string>(&a)) return add(EValue(StringRef{text->data(), text->size()}));
    if (const auto* list = std::get_if<ir::FloatList>(&a)) return add(EValue(Span<const double>(*list)));
    if (const auto* list = std::get_if<ir::BoolList>(&a)) {
      bools_ = std::make_unique<bool[]>(list->size() + 1);
      std::copy(list->begin(), list->end(), bools_.get());
      return add(EValue(Span<const bool>(bools_.get(), list->size())));
    }
    return add(EValue());
  }

  Status take_bytes(int64_t bytes) {
    left_ -= bytes;
    if (left_ >= 0) return Done{};
    return fail(Error::kOutOfResources, "needs more memory than the evaluator may use");
  }

  // Memory for every result, at its largest size.
  Status outputs() {
    std::vector<EValue*> outs;
    for (ir::ValueId id : node_.results) {
      const ir::TensorType& type = method_.tensor(id);
      std::vector<int32_t> sizes;
      int64_t bytes = static_cast<int64_t>(element_size(type.dtype));
      for (ir::Dim dim : type.shape) {
        int64_t size = 0;
        if (!binding_.find(dim, &size)) size = binding_.symbols().upper(dim);
        if (size < 0 || size > INT32_MAX || !checked_mul(bytes, size, &bytes)) {
          return fail(Error::kOutOfResources, "has a result with more elements than memory can hold");
        }
        sizes.push_back(static_cast<int32_t>(size));
      }
      BERTH_TRY(take_bytes(bytes));
      memory_.emplace_back(bytes);
      tensors_.emplace_back(type.dtype, std::move(sizes), type.dim_order, memory_.back().data(),
                            ShapeDynamism::kBounded);
      results_.push_back(&tensors_.back());
      outs.push_back(add(EValue(&tensors_.back().tensor)));
    }
    if (node_.op->output_is_list) {
      args_.push_back(add(EValue::tensor_list(keep(std::move(outs)))));
    } else {
      args_.insert(args_.end(), outs.begin(), outs.end());
    }
    return Done{};
  }

  // The IR is functional: an operator that writes its argument writes a copy.
  Status own_self() {
    Tensor& self = args_[0]->tensor();
    BERTH_TRY(take_bytes(static_cast<int64_t>(self.nbytes())));
    memory_.emplace_back(self.nbytes());
    std::copy_n(self.data<uint8_t>(), self.nbytes(), memory_.back().data());
    self.set_data(memory_.back().data());
    for (HostTensor& tensor : tensors_) {
      if (&tensor.tensor == &self) results_.push_back(&tensor);
    }
    return Done{};
  }

  Status invoke(const KernelEntry& kernel) {
    constexpr size_t kAlignment = 64;
    const size_t temp_bytes = kernel.temp_bytes == nullptr ? 0 : kernel.temp_bytes(args_, 1);
    if (temp_bytes > static_cast<size_t>(left_)) BERTH_TRY(take_bytes(left_ + 1));
    std::vector<uint8_t> temp(temp_bytes + kAlignment);
    KernelContext context(temp, nullptr);
    const Error error = kernel.call(context, args_);
    if (error == Error::kOk) return Done{};
    return fail(error, context.message() != nullptr ? context.message() : "its kernel failed");
  }

  Expected<std::vector<Array>> results() {
    std::vector<Array> arrays;
    for (size_t i = 0; i < results_.size(); ++i) {
      const HostTensor& result = *results_[i];
      Array array;
      array.dtype = result.tensor.dtype();
      array.sizes = result.sizes;
      array.dim_order = method_.tensor(node_.results[i]).dim_order;
      array.bytes = std::move(memory_[i]);
      array.bytes.resize(result.tensor.nbytes());
      arrays.push_back(std::move(array));
      const ir::TensorType& type = method_.tensor(node_.results[i]);
      for (size_t d = 0; d < type.shape.size(); ++d) {
        if (!binding_.bind(type.shape[d], result.sizes[d])) {
          return fail(Error::kInvalidArgument,
                      "gave a size other than the " + binding_.symbols().text(type.shape[d]) + " that its type says");
        }
      }
    }
    return arrays;
  }

  const ir::Method& method_;
  const ir::Node& node_;
  Binding& binding_;
  const std::function<Operand(ir::ValueId)>& operand_of_;
  int64_t left_;

  // Deques: what points to their items stays valid while they grow.
  std::deque<EValue> values_;
  std::deque<HostTensor> tensors_;
  std::deque<std::vector<EValue*>> lists_;
  std::unique_ptr<bool[]> bools_;
  std::vector<EValue*> args_;
  std::vector<HostTensor*> results_;
  std::vector<std::vector<uint8_t>> memory_;  // of results
};

}  // namespace

int64_t Array::numel() const {
  int64_t count = 1;
  for (int32_t size : sizes) count *= size;
  return count;
}

View view_of(const Array& array) { return View{array.dtype, array.sizes, array.dim_order, array.bytes.data()}; }

bool Binding::find(ir::Dim dim, int64_t* out) const {
  if (dim.is_constant()) {
    *out = dim.value;
    return true;
  }
  const ir::Symbol& s = symbols_[dim.symbol];
  if (s.kind == ir::SymbolKind::kInput) {
    *out = known_.contains(dim.symbol) ? numbers_[dim.symbol] : 0;
    return known_.contains(dim.symbol) && known_[dim.symbol];
  }
  int64_t a = 0;
  int64_t b = 0;
  if (!find(s.a, &a) || !find(s.b, &b)) return false;
  // Ranges keep operands within 2^62, and divisors from 0.
  const auto floor_div = [&] { return a / b - ((a % b != 0) && ((a % b < 0) != (b < 0)) ? 1 : 0); };
  switch (s.kind) {
    case ir::SymbolKind::kAdd: return checked_add(a, b, out);
    case ir::SymbolKind::kMul: return checked_mul(a, b, out);
    case ir::SymbolKind::kFloorDiv: *out = floor_div(); return true;
    case ir::SymbolKind::kMod: *out = a - floor_div() * b; return true;
    case ir::SymbolKind::kMax: *out = std::max(a, b); return true;
    case ir::SymbolKind::kMin: *out = std::min(a, b); return true;
    case ir::SymbolKind::kInput: break;
  }
  return false;
}

bool Binding::bind(ir::Dim dim, int64_t size) {
  int64_t known = 0;
  if (find(dim, &known)) return known == size;
  const ir::Symbol& s = symbols_[dim.symbol];
  if (s.kind != ir::SymbolKind::kInput) return true;
  if (size < s.min || size > s.max || (size - s.min) % s.step != 0 || !known_.contains(dim.symbol)) return false;
  numbers_[dim.symbol] = size;
  known_[dim.symbol] = true;
  return true;
}

Expected<std::vector<Array>> call(const ir::Method& method, const ir::Node& node, Binding& binding,
                                  const std::function<Operand(ir::ValueId)>& operand_of, int64_t max_bytes) {
  return Call(method, node, binding, operand_of, max_bytes).run();
}

}  // namespace berth::eval
