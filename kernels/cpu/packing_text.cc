// The text of a weight's packing, written and read. The text may come from an untrusted file.

#include <cstring>
#include <utility>

#include "base/math.h"
#include "kernels/cpu/packing_layout.h"

namespace berth::cpu {
namespace {

// No weight has more elements, and sums of products of such numbers with few terms do not overflow.
constexpr int64_t kMost = int64_t{1} << 40;

struct DerivedName {
  Derived derived;
  const char* name;
};
constexpr DerivedName kDerived[] = {{Derived::kWinograd2, "winograd2"}, {Derived::kWinograd4, "winograd4"}};

template <typename T>
std::string list(const T* items, int count) {
  std::string text = "[";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + std::to_string(items[i]);
  return text + "]";
}

class Reader {
 public:
  explicit Reader(StringRef text) : at_(text.data), end_(text.data + text.size) {}

  bool skip_to(char c) {
    while (at_ < end_ && *at_ != c) ++at_;
    return at_ < end_;
  }
  bool take(const char* word) {
    const size_t size = std::strlen(word);
    if (static_cast<size_t>(end_ - at_) < size || std::memcmp(at_, word, size) != 0) return false;
    at_ += size;
    return true;
  }
  bool at_end() const { return at_ == end_; }

  /// "[1,2,3]" with up to `most` numbers from 0 to kMost.
  template <typename T>
  bool list(T* items, int most, int* count) {
    *count = 0;
    if (!take("[")) return false;
    if (take("]")) return true;
    while (*count < most) {
      int64_t number = 0;
      if (!this->number(&number) || (sizeof(T) < 8 && number > INT32_MAX)) return false;
      items[(*count)++] = static_cast<T>(number);
      if (take("]")) return true;
      if (!take(",")) return false;
    }
    return false;
  }

 private:
  bool number(int64_t* value) {
    const char* start = at_;
    while (at_ < end_ && *at_ >= '0' && *at_ <= '9' && *value <= kMost) *value = *value * 10 + (*at_++ - '0');
    return at_ > start && *value <= kMost;
  }

  const char* at_;
  const char* end_;
};

// " then winograd4 [147456]", or nothing.
bool read_derived(Reader& reader, WeightLayout* layout) {
  if (reader.at_end()) return true;
  if (!reader.take(" then ")) return false;
  for (const DerivedName& one : kDerived) {
    if (!reader.take(one.name)) continue;
    layout->derived = one.derived;
    int count = 0;
    return reader.take(" ") && reader.list(&layout->derived_numel, 1, &count) && count == 1 &&
           layout->derived_numel > 0;
  }
  return false;
}

bool read(StringRef text, DenseSizes* dense, WeightLayout* layout) {
  Reader reader(text);
  WeightLayout& l = *layout;
  int from = 0;
  int strides = 0;
  int owners = 0;
  return reader.skip_to('[') && reader.list(dense->size, DenseSizes::kMaxRank, &dense->rank) && reader.take(" dims ") &&
         reader.list(l.size, WeightLayout::kMaxDims, &l.dims) && reader.take(" from ") &&
         reader.list(l.from, WeightLayout::kMaxDims, &from) && reader.take(" strides ") &&
         reader.list(l.stride, WeightLayout::kMaxDims, &strides) && reader.take(" blocks ") &&
         reader.list(l.block, WeightLayout::kMaxBlocks, &l.blocks) && reader.take(" of ") &&
         reader.list(l.block_dim, WeightLayout::kMaxBlocks, &owners) && read_derived(reader, layout) &&
         reader.at_end() && from == l.dims && strides == l.dims && owners == l.blocks && l.dims > 0 && dense->rank > 0;
}

// Each step of the product is checked: no more than kMost elements.
template <typename T>
bool product(const T* sizes, int count, int64_t* result) {
  *result = 1;
  for (int i = 0; i < count; ++i) {
    if (sizes[i] < 1 || *result > kMost / static_cast<int64_t>(sizes[i])) return false;
    *result *= static_cast<int64_t>(sizes[i]);
  }
  return true;
}

// The dimensions for which `counts(d)`, by stride.
struct Order {
  int count = 0;
  int dim[WeightLayout::kMaxDims] = {};
};

template <typename Counts>
Order order_by(const int64_t* strides, int dims, Counts&& counts) {
  Order order;
  for (int d = 0; d < dims; ++d) {
    if (!counts(d)) continue;
    int i = order.count++;
    order.dim[i] = d;
    for (; i > 0 && strides[order.dim[i]] < strides[order.dim[i - 1]]; --i) std::swap(order.dim[i], order.dim[i - 1]);
  }
  return order;
}

// Dimensions in the order of their strides must be row-major: then each dense element is named once.
bool covers_dense(const WeightLayout& l) {
  const Order order = order_by(l.from, l.dims, [&](int d) { return l.size[d] > 1; });
  int64_t expected = 1;
  for (int i = 0; i < order.count; ++i) {
    if (l.from[order.dim[i]] != expected) return false;
    expected *= l.size[order.dim[i]];
  }
  return true;
}

// The same for blocks in the packed memory, which may have gaps.
bool keeps_blocks_apart(const WeightLayout& l) {
  int64_t inner = 1;
  if (!product(l.block, l.blocks, &inner)) return false;
  const Order order = order_by(l.stride, l.dims, [&](int d) { return l.size[d] > l.block_of(d); });
  int64_t least = inner;
  for (int i = 0; i < order.count; ++i) {
    const int d = order.dim[i];
    const int64_t positions = ceil_div(l.size[d], l.block_of(d));
    if (l.stride[d] < least || l.stride[d] > kMost / positions) return false;
    least = l.stride[d] * positions;
  }
  return least <= kMost;
}

}  // namespace

std::string packing_text(const std::string& source, const DenseSizes& dense, const WeightLayout& layout) {
  std::string derived;
  for (const DerivedName& one : kDerived) {
    if (one.derived == layout.derived)
      derived = std::string(" then ") + one.name + " " + list(&layout.derived_numel, 1);
  }
  return source + " " + list(dense.size, dense.rank) + " dims " + list(layout.size, layout.dims) + " from " +
         list(layout.from, layout.dims) + " strides " + list(layout.stride, layout.dims) + " blocks " +
         list(layout.block, layout.blocks) + " of " + list(layout.block_dim, layout.blocks) + derived;
}

bool read_packing(StringRef text, DenseSizes* dense, WeightLayout* layout) {
  *dense = DenseSizes();
  *layout = WeightLayout();
  if (!read(text, dense, layout)) return false;
  for (int b = 0; b < layout->blocks; ++b) {
    if (layout->block_dim[b] >= layout->dims) return false;
  }
  int64_t elements = 0;
  int64_t packed = 0;
  return product(dense->size, dense->rank, &elements) && product(layout->size, layout->dims, &packed) &&
         elements == packed && covers_dense(*layout) && keeps_blocks_apart(*layout);
}

}  // namespace berth::cpu
