// index_select and embedding: whole slabs of a tensor picked by a list of indices. Indices count from the front only.
#include <algorithm>

#include "kernels/portable/copy_strided.h"
#include "kernels/portable/element_word.h"
#include "kernels/portable/index_reader.h"
#include "kernels/portable/layout_slice.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/sparse_rows.h"

namespace berth::portable {
namespace {

// A slab's share of work when there are threads.
constexpr int64_t kGrainBytes = 64 * 1024;
// Single elements that are a thread's share.
constexpr int64_t kGrainElements = 16 * 1024;

// Slab number i of `out` becomes slab index[i] of `self`.
struct Picking {
  const Tensor& self;
  const Tensor& index;
  Tensor& out;
  int dim;                       // of self
  const StridedCopy& slab;       // prepared
  const int64_t* index_strides;  // of out, one a dimension of `index`
  bool sparse;
};

int64_t out_offset(const Picking& p, int64_t i) {
  if (p.index.rank() <= 1) return i * p.index_strides[0];
  int64_t offset = 0;
  for (int d = p.index.rank() - 1; d >= 0; --d) {
    offset += i % p.index.size(d) * p.index_strides[d];
    i /= p.index.size(d);
  }
  return offset;
}

// Slabs after one that fails may be left out.
void pick(const KernelContext& context, const Picking& p, int64_t begin, int64_t end, Picked* picked) {
  const IndexReader index(p.index);
  const int64_t size = p.self.size(p.dim);
  const int64_t bytes = static_cast<int64_t>(element_size(p.self.dtype()));
  for (int64_t i = begin; i < end; ++i) {
    const int64_t at = index[element_offset(p.index, i)];
    if (at < 0 || at >= size) return picked->in_range.also(false);
    const char* const from = p.self.data<char>() + at * p.self.stride(p.dim) * bytes;
    char* const to = p.out.data<char>() + out_offset(p, i) * bytes;
    if (!p.sparse) {
      p.slab.run(from, to);
    } else if (context.fetch(from, p.slab.bytes(), to) != Error::kOk) {
      return picked->readable.also(false);
    }
  }
}

// Whether each row along `dim` is one run, of which single elements are picked: slabs would take a call an element.
bool picks_elements(const Picking& p) {
  if (!p.self.is_contiguous() || !p.index.is_contiguous() || !p.out.is_contiguous()) return false;
  for (int d = p.dim + 1; d < p.self.rank(); ++d) {
    if (p.self.size(d) != 1) return false;
  }
  return true;
}

// Elements [begin, end) of the result.
template <typename Word>
bool pick_elements(const Picking& p, int64_t begin, int64_t end) {
  constexpr int64_t kBytes = sizeof(Word);
  const IndexReader index(p.index);
  const int64_t size = p.self.size(p.dim);
  const int64_t count = p.index.numel();
  char* to = p.out.data<char>() + begin * kBytes;
  while (begin < end) {
    const char* const row = p.self.data<char>() + begin / count * size * kBytes;
    const int64_t first = begin % count;
    const int64_t last = std::min(count, first + end - begin);
    begin += last - first;
    for (int64_t i = first; i < last; ++i, to += kBytes) {
      const int64_t at = index[i];
      if (at < 0 || at >= size) return false;
      store_word(to, load_word<Word>(row + at * kBytes));
    }
  }
  return true;
}

// The dimension `dim` of `self` gives way to those of `index`.
Error pick_slabs(KernelContext& context, const Tensor& self, int dim, const Tensor& index, Tensor& out) {
  BERTH_RETURN_IF_ERROR(check_index(context, index));
  Sizes sizes;
  bool fits = true;
  for (int d = 0; d < self.rank(); ++d) {
    if (d != dim) fits = fits && push_size(&sizes, self.size(d));
    for (int i = 0; d == dim && i < index.rank(); ++i) fits = fits && push_size(&sizes, index.size(i));
  }
  if (!fits) return context.fail(Error::kInvalidArgument, "the result has more than 16 dimensions");
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes));
  if (out.numel() == 0) return Error::kOk;
  StridedCopy slab(element_size(self.dtype()));
  for (int d = 0; d < self.rank(); ++d) {
    const int in_out = d < dim ? d : d - 1 + index.rank();
    if (d != dim) slab.add(self.size(d), self.stride(d), out.stride(in_out));
  }
  slab.prepare();
  // A single index without a dimension of its own has no stride, and needs none.
  const int64_t no_stride = 0;
  const bool sparse = is_sparse(self, slab, index.numel());
  const int64_t grain = sparse ? kFetchGrain : kGrainBytes / slab.bytes() + 1;
  const int64_t* const strides = index.rank() == 0 ? &no_stride : out.strides().data() + dim;
  const Picking picking{self, index, out, dim, slab, strides, sparse};
  Picked picked;
  if (!sparse && picks_elements(picking)) {
    dispatch_word(static_cast<int64_t>(element_size(self.dtype())), [&](auto tag) {
      context.parallel_for(out.numel(), kGrainElements, [&](int64_t begin, int64_t end) {
        picked.in_range.also(pick_elements<typename decltype(tag)::type>(picking, begin, end));
      });
    });
    return picked.error(context);
  }
  context.parallel_for(index.numel(), grain,
                       [&](int64_t begin, int64_t end) { pick(context, picking, begin, end, &picked); });
  return picked.error(context);
}

}  // namespace

Error index_select_out(KernelContext& context, const arguments::index_select_out& args) {
  const Tensor& self = args.self;
  const Tensor& index = args.index;
  Tensor& out = args.out;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(read_dim(context, args.dim, self, &dim));
  if (index.rank() > 1) return context.fail(Error::kInvalidArgument, "index_select: index has more than one dimension");
  if (self.rank() == 0) return context.fail(Error::kInvalidArgument, "index_select: self has rank 0");
  if (index.rank() == 0) {  // one slab, and its dimension stays
    BERTH_RETURN_IF_ERROR(check_index(context, index));
    const int64_t at = IndexReader(index)[0];
    if (at < 0 || at >= self.size(dim)) return index_out_of_range(context);
    return copy_from_box(context, self, slice_of(self, dim, at, 1, 1), out);
  }
  return pick_slabs(context, self, dim, index, out);
}

Error embedding_out(KernelContext& context, const arguments::embedding_out& args) {
  const Tensor& weight = args.weight;
  if (weight.rank() != 2) return context.fail(Error::kInvalidArgument, "embedding: weight must have two dimensions");
  return pick_slabs(context, weight, 0, args.indices, args.out);
}

}  // namespace berth::portable
