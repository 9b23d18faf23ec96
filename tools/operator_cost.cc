#include "tools/operator_cost.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "format/arguments.h"

namespace berth::tool {
namespace {

const Tensor* tensor_at(Span<EValue* const> args, size_t index) {
  return index < args.size() && args[index]->is_tensor() ? &args[index]->tensor() : nullptr;
}

double numel(const Tensor* tensor) { return tensor == nullptr ? 0 : static_cast<double>(tensor->numel()); }

double size_of(const Tensor* tensor, int dim) {
  if (tensor == nullptr || tensor->sizes().empty()) return 0;
  const size_t rank = tensor->sizes().size();
  const size_t d = dim < 0 ? rank + dim : dim;
  return d < rank ? static_cast<double>(tensor->sizes()[d]) : 0;
}

// The sizes of the dense weight: the first list in brackets of a packing.
std::vector<double> sizes_in(std::string_view packing) {
  std::vector<double> sizes;
  const size_t open = packing.find('[');
  if (open == std::string_view::npos) return sizes;
  for (size_t at = open + 1; at < packing.size() && packing[at] != ']';) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(packing.data() + at, packing.data() + packing.size(), size);
    if (error != std::errc()) break;
    sizes.push_back(static_cast<double>(size));
    at = end - packing.data();
    while (at < packing.size() && (packing[at] == ',' || packing[at] == ' ')) ++at;
  }
  return sizes;
}

// The number of elements of the weight, packed or not, and its first size.
struct Weight {
  double numel = 0;
  double first = 0;
};

Weight weight_of(Span<EValue* const> args, size_t index, size_t packing) {
  const Tensor* weight = tensor_at(args, index);
  Weight result{numel(weight), size_of(weight, 0)};
  if (packing >= args.size() || args[packing]->tag() != Tag::kString) return result;
  const StringRef text = args[packing]->to_string();
  const std::vector<double> sizes = sizes_in({text.data, text.size});
  if (sizes.empty()) return result;
  result = {1, sizes[0]};
  for (double size : sizes) result.numel *= size;
  return result;
}

// Each output element is a sum over the weights of its channel; if transposed, each input element contributes to as
// many.
double convolution_flops(Span<EValue* const> args, const Weight& weight, bool transposed) {
  if (weight.first == 0) return 0;
  const Tensor* out = tensor_at(args, args.size() - 1);
  return 2 * numel(transposed ? tensor_at(args, 0) : out) * weight.numel / weight.first;
}

// Expanding is done for each pixel of the input, the rest for each of the result.
double inverted_residual_flops(Span<EValue* const> args) {
  namespace at = arg::inverted_residual_out;
  const auto pixels = [](const Tensor* image) { return size_of(image, 0) * size_of(image, 2) * size_of(image, 3); };
  const double rest =
      weight_of(args, at::weight, at::packing).numel + weight_of(args, at::project_weight, at::project_packing).numel;
  return 2 * (pixels(tensor_at(args, at::input)) * weight_of(args, at::expand_weight, at::expand_packing).numel +
              pixels(tensor_at(args, args.size() - 1)) * rest);
}

double product_flops(Span<EValue* const> args, size_t left) {
  return 2 * numel(tensor_at(args, args.size() - 1)) * size_of(tensor_at(args, left), -1);
}

// Scores and weighted sums: two products for each query and key.
double attention_flops(Span<EValue* const> args) {
  return 4 * numel(tensor_at(args, args.size() - 1)) * size_of(tensor_at(args, arg::fused_attention_out::key), 1);
}

bool truth_at(Span<EValue* const> args, size_t index) {
  return index < args.size() && args[index]->is_bool() && args[index]->to_bool();
}

double flops_of(std::string_view name, Span<EValue* const> args) {
  if (name == "aten::convolution.out") {
    return convolution_flops(args, weight_of(args, arg::convolution_out::weight, SIZE_MAX),
                             truth_at(args, arg::convolution_out::transposed));
  }
  if (name == "berth::conv.out") {
    const Weight weight = weight_of(args, arg::fused_conv_out::weight, arg::fused_conv_out::packing);
    return convolution_flops(args, weight, truth_at(args, arg::fused_conv_out::transposed));
  }
  if (name == "berth::inverted_residual.out") return inverted_residual_flops(args);
  if (name == "berth::quantized_conv.out") {
    return convolution_flops(args, weight_of(args, arg::quantized_conv_out::weight, arg::quantized_conv_out::packing),
                             false);
  }
  if (name == "berth::quantized_linear.out") return product_flops(args, arg::quantized_linear_out::input);
  if (name == "aten::mm.out" || name == "aten::bmm.out" || name == "berth::linear.out" ||
      name == "berth::narrow_linear.out")
    return product_flops(args, arg::mm_out::self);
  if (name == "aten::addmm.out") return product_flops(args, arg::addmm_out::mat1);
  if (name == "berth::attention.out" || name == "berth::attention.biased_out") return attention_flops(args);
  // With all keys: how many a query sees is known to the run alone.
  if (name == "berth::grouped_attention.out") {
    return 4 * numel(tensor_at(args, args.size() - 1)) * size_of(tensor_at(args, arg::grouped_attention_out::key), 2);
  }
  if (name == "berth::grouped_attention.rows_out") {
    return 4 * numel(tensor_at(args, args.size() - 1)) *
           size_of(tensor_at(args, arg::grouped_attention_rows_out::key), 1);
  }
  if (name == "berth::lstm_cell.out")
    return 2 * weight_of(args, arg::fused_lstm_cell_out::weight, arg::fused_lstm_cell_out::packing).numel;
  // For each step and row as many as lstm_cell: 4 * size gates, each a sum of `size` products.
  if (name == "berth::lstm.out")
    return 2 * numel(tensor_at(args, arg::fused_lstm_out::gates)) *
           size_of(tensor_at(args, arg::fused_lstm_out::hidden), 1);
  if (name == "berth::gru.out")
    return 2 * numel(tensor_at(args, arg::fused_gru_out::gates)) *
           size_of(tensor_at(args, arg::fused_gru_out::hidden), 1);
  return 0;
}

// The argument of which a call reads no more than the rows or elements that its indices name; null for none.
const Tensor* picked_tensor(std::string_view name, Span<EValue* const> args) {
  struct Row {
    std::string_view name;
    int reads;
  };
  constexpr Row kRows[] = {
#define WHOLE -1
#define PICKED(i) i
#define OP(identifier, name, functional, out, schema, rule, in_place, view, unplaced, layout, elements, reads, ...) \
  {out[0] == '\0' ? name : name "." out, reads},
#include "format/operators.def"
#undef OP
#undef PICKED
#undef WHOLE
  };
  for (const Row& row : kRows) {
    if (row.reads >= 0 && row.name == name) return tensor_at(args, static_cast<size_t>(row.reads));
  }
  return nullptr;
}

void add_tensors(const EValue& value, std::vector<const Tensor*>* tensors) {
  if (value.is_tensor()) {
    tensors->push_back(&value.tensor());
  } else if (value.tag() == Tag::kTensorList) {
    for (const EValue* item : value.items()) {
      if (item != nullptr && item->is_tensor()) tensors->push_back(&item->tensor());
    }
  }
}

}  // namespace

OperatorCost operator_cost(const char* name, Span<EValue* const> args) {
  OperatorCost cost;
  const std::string_view text(name);
  const bool is_prim = text.rfind("executorch_prim::", 0) == 0;  // moves names and numbers, not elements
  if (is_prim || text == "move") return cost;
  std::vector<const Tensor*> tensors;
  for (const EValue* arg : args) add_tensors(*arg, &tensors);
  std::sort(tensors.begin(), tensors.end());
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  const Tensor* const picked = picked_tensor(text, args);
  const Tensor* const made = picked == nullptr ? nullptr : tensor_at(args, args.size() - 1);
  for (const Tensor* tensor : tensors) {
    const bool in_part = tensor == picked && made != nullptr;
    cost.bytes += static_cast<double>(in_part ? std::min(tensor->nbytes(), made->nbytes()) : tensor->nbytes());
  }
  cost.flops = args.empty() ? 0 : flops_of(text, args);
  return cost;
}

}  // namespace berth::tool
