#include "runtime/host/plugin_kernels.h"

#include <algorithm>

#include "runtime/signature.h"

namespace berth {
namespace {

constexpr size_t kMostTensors = 64;
constexpr size_t kMostNumbers = 256;

// The result of a failed call is read after it returns, by the same thread.
berth_message& last_message() {
  static thread_local berth_message message;
  return message;
}

/// A call's arguments as a plug-in's kernel gets them, without the heap.
class CallView {
 public:
  /// False when there are too many tensors or numbers.
  bool add(const EValue& value) {
    berth_call_argument& out = arguments_[count_++];
    out = {};
    switch (value.tag()) {
      case Tag::kNone: out.kind = BERTH_ARG_NONE; return true;
      case Tag::kTensor: out.kind = BERTH_ARG_VALUE; return add_tensors(&out, &value, nullptr, 1);
      case Tag::kTensorList:
        out.kind = BERTH_ARG_VALUES;
        return add_tensors(&out, nullptr, value.items().data(), value.items().size());
      case Tag::kInt: out.kind = BERTH_ARG_INTS; return add_number(&out, value.to_int());
      case Tag::kBool: out.kind = BERTH_ARG_BOOLS; return add_number(&out, value.to_bool() ? 1 : 0);
      case Tag::kIntList:
        out.kind = BERTH_ARG_INTS;
        out.ints = ints_ + ints_used_;
        for (const EValue* item : value.items()) {
          if (!add_number(&out, item->to_int())) return false;
        }
        return true;
      case Tag::kBoolList:
        out.kind = BERTH_ARG_BOOLS;
        out.ints = ints_ + ints_used_;
        for (const bool item : value.bools()) {
          if (!add_number(&out, item ? 1 : 0)) return false;
        }
        return true;
      case Tag::kDouble:
        if (reals_used_ == Signature::kMaxParameters) return false;
        out.kind = BERTH_ARG_DOUBLES;
        out.count = 1;
        out.doubles = reals_ + reals_used_;
        reals_[reals_used_++] = value.scalar_to<double>();
        return true;
      case Tag::kDoubleList:
        out.kind = BERTH_ARG_DOUBLES;
        out.count = value.doubles().size();
        out.doubles = value.doubles().data();
        return true;
      case Tag::kString:
        out.kind = BERTH_ARG_TEXT;
        out.text = value.to_string().data;
        out.count = value.to_string().size;
        return true;
    }
    return false;
  }

  const berth_call_argument* arguments() const { return arguments_; }
  size_t size() const { return count_; }

  /// Gives the tensors of arguments `first` and later the sizes that the kernel set. False for those that a tensor
  /// cannot have.
  bool resize(size_t first) {
    for (size_t a = first; a < count_; ++a) {
      const bool tensors = arguments_[a].kind == BERTH_ARG_VALUE || arguments_[a].kind == BERTH_ARG_VALUES;
      for (size_t i = 0; tensors && i < arguments_[a].count; ++i) {
        const size_t number = static_cast<size_t>(arguments_[a].tensors - tensors_) + i;
        if (tensors_of_[number] == nullptr) continue;
        Tensor& tensor = *tensors_of_[number];
        const Span<const int32_t> sizes(sizes_[number], tensor.sizes().size());
        if (sizes == tensor.sizes()) continue;
        const bool negative = std::any_of(sizes.begin(), sizes.end(), [](int32_t size) { return size < 0; });
        if (negative || tensor.resize(sizes) != Error::kOk) return false;
      }
    }
    return true;
  }

 private:
  bool add_tensors(berth_call_argument* out, const EValue* one, EValue* const* list, size_t count) {
    if (count > kMostTensors - tensors_used_) return false;
    out->count = count;
    out->tensors = tensors_ + tensors_used_;
    for (size_t i = 0; i < count; ++i) describe(list == nullptr ? *one : *list[i], tensors_used_++);
    return true;
  }

  void describe(const EValue& value, size_t number) {
    berth_tensor& out = tensors_[number];
    out = {};
    out.rank = -1;
    tensors_of_[number] = value.is_tensor() ? &value.tensor() : nullptr;
    if (!value.is_tensor()) return;
    const Tensor& tensor = value.tensor();
    std::copy(tensor.sizes().begin(), tensor.sizes().end(), sizes_[number]);
    out.data = tensor.raw();
    out.bytes = tensor.nbytes();
    out.capacity = tensor.capacity() * element_size(tensor.dtype());
    out.dtype = static_cast<int32_t>(tensor.dtype());
    out.rank = tensor.rank();
    out.sizes = sizes_[number];
    out.dim_order = tensor.dim_order().data();
  }

  bool add_number(berth_call_argument* out, int64_t number) {
    if (ints_used_ == kMostNumbers) return false;
    if (out->count == 0) out->ints = ints_ + ints_used_;
    ints_[ints_used_++] = number;
    ++out->count;
    return true;
  }

  berth_call_argument arguments_[Signature::kMaxParameters];
  size_t count_ = 0;
  berth_tensor tensors_[kMostTensors];
  Tensor* tensors_of_[kMostTensors];  // null where none is given
  int32_t sizes_[kMostTensors][kMaxRank];
  size_t tensors_used_ = 0;
  int64_t ints_[kMostNumbers];
  size_t ints_used_ = 0;
  double reals_[Signature::kMaxParameters];
  size_t reals_used_ = 0;
};

/// "my::gain.out" of the operator "my::gain" or "my::gain.Tensor".
std::string kernel_name(const berth_operator& op) {
  const std::string name = op.name;
  const size_t dot = name.find('.', name.find("::"));
  const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  const std::string standard = overload.empty() ? "out" : overload + "_out";
  return name.substr(0, dot) + "." + (op.out_overload == nullptr ? standard : std::string(op.out_overload));
}

}  // namespace

Error PluginKernels::call(KernelContext& context, Span<EValue* const> args) {
  const Kernel& kernel = *static_cast<const Kernel*>(context.data());
  CallView view;
  for (const EValue* arg : args) {
    if (!view.add(*arg)) {
      return context.fail(Error::kNotSupported,
                          "a plug-in's kernel takes at most 64 tensors, and 256 numbers in lists");
    }
  }
  berth_message& message = last_message();
  message.text[0] = '\0';
  const int32_t code = call_plugin(
      &message, [&] { return kernel.op->compute(kernel.op->self, view.arguments(), view.size(), &message); });
  if (code != BERTH_OK) return context.fail(plugin_error(code), one_line(&message));
  if (view.resize(kernel.first_output)) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "the plug-in gives a result sizes that it cannot have");
}

Expected<PluginKernels> PluginKernels::make(Span<const Plugin* const> plugins) {
  PluginKernels all;
  for (const Plugin* plugin : plugins) {
    for (const berth_operator& op : plugin->operators()) {
      if (op.compute == nullptr) continue;
      const std::string place = "plug-in " + plugin->place() + ": operator " + op.name;
      Signature signature;
      if (!Signature::parse(op.schema, &signature) || signature.parameters().size() == signature.arguments()) {
        return Failure{Error::kInvalidArgument, place,
                       std::string("its schema is not one that a kernel can have: ") + op.schema};
      }
      std::string name = kernel_name(op);
      const auto same = [&](const Kernel& other) { return other.name == name; };
      if (std::any_of(all.kernels_.begin(), all.kernels_.end(), same)) {
        return Failure{Error::kInvalidArgument, place, "another operator has the kernel " + name};
      }
      all.kernels_.push_back({&op, std::move(name), signature.arguments()});
      KernelEntry entry;
      entry.name = all.kernels_.back().name.c_str();
      entry.signature = op.schema;
      entry.call = call;
      entry.in_place_arguments = op.in_place;
      entry.data = &all.kernels_.back();
      all.entries_.push_back(entry);
    }
  }
  return all;
}

}  // namespace berth
