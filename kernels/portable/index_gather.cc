// gather, scatter, scatter_add and scatter_reduce: one index an element, along one dimension. Indices count from the
// front only.
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/portable/copy_strided.h"
#include "kernels/portable/create_scalar.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/element_word.h"
#include "kernels/portable/index_add.h"
#include "kernels/portable/index_arguments.h"
#include "kernels/portable/iterate.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// Elements a thread at least.
constexpr int64_t kGrain = 8192;

// The operands of a walk over all elements of the index tensor.
enum Operand { kIndexed = 0, kIndex = 1, kPlain = 2 };

// `indexed` does not move along `dim`: there, the index says where to go. Null for `plain` when there is none.
Walk walk_index(const Tensor& index, const Tensor& indexed, const Tensor* plain, int dim, const Tensor& order) {
  Walk walk(3);
  for (const uint8_t d : order.dim_order()) {
    const int64_t strides[] = {d == dim ? 0 : indexed.stride(d), index.stride(d),
                               plain == nullptr ? 0 : plain->stride(d)};
    walk.add(index.size(d), strides);
  }
  return walk;
}

// How long `indexed` is along `dim`, and its stride there; a tensor of rank 0 is like one of one element.
struct Along {
  Along(const Tensor& tensor, int dim)
      : size(tensor.rank() == 0 ? 1 : tensor.size(dim)), stride(tensor.rank() == 0 ? 0 : tensor.stride(dim)) {}
  int64_t size;
  int64_t stride;
};

template <typename Word>
bool gather_range(const Walk& walk, Along along, const Tensor& self, const Tensor& index_tensor, Tensor& out,
                  int64_t begin, int64_t end) {
  constexpr int64_t kBytes = sizeof(Word);
  const IndexReader index(index_tensor);
  const char* from = self.data<char>();
  char* to = out.data<char>();
  bool in_range = true;
  for_each_run(walk, begin, end, [&](const int64_t* at, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t pick = index[at[kIndex] + i * walk.step(kIndex)];
      if (pick < 0 || pick >= along.size) {
        in_range = false;
        return;
      }
      const int64_t source = at[kIndexed] + i * walk.step(kIndexed) + pick * along.stride;
      store_word(to + (at[kPlain] + i * walk.step(kPlain)) * kBytes, load_word<Word>(from + source * kBytes));
    }
  });
  return in_range;
}

// Calls `put(target, source)` with element offsets, in an order that rises along every dimension, so that of several
// elements for one position the last one stays. One thread: two of them could meet in one position.
template <typename Put>
Error scatter_each(KernelContext& context, const Walk& walk, Along along, const Tensor& index_tensor, Put&& put) {
  const IndexReader index(index_tensor);
  bool in_range = true;
  for_each_run(walk, 0, walk.count, [&](const int64_t* at, int64_t n) {
    for (int64_t i = 0; in_range && i < n; ++i) {
      const int64_t pick = index[at[kIndex] + i * walk.step(kIndex)];
      in_range = pick >= 0 && pick < along.size;
      if (!in_range) return;
      put(at[kIndexed] + i * walk.step(kIndexed) + pick * along.stride, at[kPlain] + i * walk.step(kPlain));
    }
  });
  return in_range ? Error::kOk : index_out_of_range(context);
}

// Checks the arguments of a scatter, and copies self to out.
template <typename Args>
Error begin_scatter(KernelContext& context, const Args& args, const Tensor* src, Tensor& out, int* dim) {
  BERTH_RETURN_IF_ERROR(check_scatter(context, args.self, args.dim, args.index, src, out, dim));
  BERTH_RETURN_IF_ERROR(prepare_out(context, args.self, out, sizes_of(args.self)));
  copy_tensor(context, args.self, out);
  return Error::kOk;
}

enum class Reduction : uint8_t { kSum, kProduct, kLargest, kSmallest };

bool read_reduction(StringRef name, Reduction* out) {
  constexpr struct {
    const char* name;
    size_t size;
    Reduction reduction;
  } kNames[] = {{"sum", 3, Reduction::kSum},
                {"prod", 4, Reduction::kProduct},
                {"amax", 4, Reduction::kLargest},
                {"amin", 4, Reduction::kSmallest}};
  for (const auto& known : kNames) {
    if (known.size != name.size || std::memcmp(known.name, name.data, name.size) != 0) continue;
    *out = known.reduction;
    return true;
  }
  return false;
}

// What a reduction of no elements gives.
template <typename T>
T nothing(Reduction reduction) {
  if constexpr (std::is_same_v<T, Bool>) {
    return Bool(reduction == Reduction::kProduct || reduction == Reduction::kSmallest);
  } else if constexpr (std::is_integral_v<T>) {
    if (reduction == Reduction::kLargest) return std::numeric_limits<T>::min();
    if (reduction == Reduction::kSmallest) return std::numeric_limits<T>::max();
    return reduction == Reduction::kProduct ? T{1} : T{0};
  } else {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (reduction == Reduction::kLargest) return T(-kInfinity);
    if (reduction == Reduction::kSmallest) return T(kInfinity);
    return T(reduction == Reduction::kProduct ? 1.0F : 0.0F);
  }
}

template <typename T>
T multiplied(T a, T b) {
  if constexpr (std::is_same_v<T, Bool>) {
    return Bool(static_cast<bool>(a) && static_cast<bool>(b));
  } else if constexpr (std::is_integral_v<T>) {
    T result;
    __builtin_mul_overflow(a, b, &result);  // the low bits
    return result;
  } else if constexpr (std::is_same_v<T, double>) {
    return a * b;
  } else {
    return T(static_cast<float>(a) * static_cast<float>(b));
  }
}

// `x` goes into `*to`; what is not a number stays.
template <typename T>
void reduce_to(Reduction reduction, T* to, T x) {
  switch (reduction) {
    case Reduction::kSum: return add_to(to, x);
    case Reduction::kProduct: *to = multiplied(*to, x); return;
    case Reduction::kLargest:
      if (x > *to || x != x) *to = x;
      return;
    case Reduction::kSmallest:
      if (x < *to || x != x) *to = x;
      return;
  }
}

}  // namespace

Error gather_out(KernelContext& context, const arguments::gather_out& args) {
  const Tensor& self = args.self;
  const Tensor& index = args.index;
  Tensor& out = args.out;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(prepare_gather(context, args, &dim));
  if (out.numel() == 0) return Error::kOk;
  const Walk walk = walk_index(index, self, &out, dim, out);
  const Along along(self, dim);
  return dispatch_word(static_cast<int64_t>(element_size(self.dtype())), [&](auto tag) {
    using Word = typename decltype(tag)::type;
    AllOf in_range;
    context.parallel_for(walk.count, kGrain, [&](int64_t begin, int64_t end) {
      in_range.also(gather_range<Word>(walk, along, self, index, out, begin, end));
    });
    return in_range ? Error::kOk : index_out_of_range(context);
  });
}

Error scatter_src_out(KernelContext& context, const arguments::scatter_src_out& args) {
  const Tensor& index = args.index;
  const Tensor& src = args.src;
  Tensor& out = args.out;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(begin_scatter(context, args, &src, out, &dim));
  if (index.numel() == 0) return Error::kOk;
  const Walk walk = walk_index(index, out, &src, dim, index);
  return dispatch_word(static_cast<int64_t>(element_size(out.dtype())), [&](auto tag) {
    using Word = typename decltype(tag)::type;
    constexpr int64_t kBytes = sizeof(Word);
    return scatter_each(context, walk, Along(out, dim), index, [&](int64_t to, int64_t from) {
      store_word(out.data<char>() + to * kBytes, load_word<Word>(src.data<char>() + from * kBytes));
    });
  });
}

Error scatter_value_out(KernelContext& context, const arguments::scatter_value_out& args) {
  const Tensor& index = args.index;
  Tensor& out = args.out;
  int dim = 0;
  Element value;
  BERTH_RETURN_IF_ERROR(read_element(context, args.value, out.dtype(), &value));
  BERTH_RETURN_IF_ERROR(begin_scatter(context, args, nullptr, out, &dim));
  if (index.numel() == 0) return Error::kOk;
  const Walk walk = walk_index(index, out, nullptr, dim, index);
  return dispatch_word(static_cast<int64_t>(element_size(out.dtype())), [&](auto tag) {
    using Word = typename decltype(tag)::type;
    constexpr int64_t kBytes = sizeof(Word);
    const Word word = load_word<Word>(value.bytes);
    return scatter_each(context, walk, Along(out, dim), index,
                        [&](int64_t to, int64_t) { store_word(out.data<char>() + to * kBytes, word); });
  });
}

Error scatter_add_out(KernelContext& context, const arguments::scatter_add_out& args) {
  const Tensor& index = args.index;
  const Tensor& src = args.src;
  Tensor& out = args.out;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(begin_scatter(context, args, &src, out, &dim));
  if (index.numel() == 0) return Error::kOk;
  const Walk walk = walk_index(index, out, &src, dim, index);
  return dispatch_real(context, out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return scatter_each(context, walk, Along(out, dim), index,
                        [&](int64_t to, int64_t from) { add_to(&out.data<T>()[to], src.data<T>()[from]); });
  });
}

Error scatter_reduce_two_out(KernelContext& context, const arguments::scatter_reduce_two_out& args) {
  const Tensor& index = args.index;
  const Tensor& src = args.src;
  Tensor& out = args.out;
  int dim = 0;
  Reduction reduction = Reduction::kSum;
  if (!read_reduction(args.reduce, &reduction)) {
    return context.fail(Error::kNotSupported, "scatter_reduce: only sum, prod, amax and amin");
  }
  BERTH_RETURN_IF_ERROR(begin_scatter(context, args, &src, out, &dim));
  if (index.numel() == 0) return Error::kOk;
  const Walk walk = walk_index(index, out, &src, dim, index);
  return dispatch_real(context, out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (!args.include_self) {
      const T start = nothing<T>(reduction);
      const auto clear = [&](int64_t to, int64_t) { out.data<T>()[to] = start; };
      BERTH_RETURN_IF_ERROR(scatter_each(context, walk, Along(out, dim), index, clear));
    }
    return scatter_each(context, walk, Along(out, dim), index, [&](int64_t to, int64_t from) {
      reduce_to(reduction, &out.data<T>()[to], src.data<T>()[from]);
    });
  });
}

}  // namespace berth::portable
