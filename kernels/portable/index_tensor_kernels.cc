// index and index_put: reading and writing self[indices].
#include "base/math.h"
#include "kernels/portable/copy_strided.h"
#include "kernels/portable/element_word.h"
#include "kernels/portable/index_add.h"
#include "kernels/portable/index_tensor.h"
#include "kernels/portable/iterate.h"
#include "kernels/portable/multiversion.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/sparse_rows.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

// A thread's share.
constexpr int64_t kGrainBytes = 64 * 1024;

// Positions after one that fails may be left out.
void read_places(const KernelContext& context, const TensorIndices& indices, const StridedCopy& slab, bool sparse,
                 const Tensor& self, Tensor& out, int64_t begin, int64_t end, Picked* picked) {
  const int64_t bytes = static_cast<int64_t>(element_size(self.dtype()));
  const int64_t* from_strides = self.strides().data();
  const int64_t* to_strides = out.strides().data();
  const char* from = self.data<char>();
  char* to = out.data<char>();
  const auto for_each = [&](const auto& move) {
    picked->in_range.also(indices.for_each(from_strides, to_strides, begin, end, [&](int64_t source, int64_t target) {
      move(from + source * bytes, to + target * bytes);
    }));
  };
  if (sparse) {
    const size_t size = slab.bytes();
    for_each([&](const char* source, char* target) {
      picked->readable.also(context.fetch(source, size, target) == Error::kOk);
    });
  } else if (!slab.is_one_word()) {
    for_each([&](const char* source, char* target) { slab.run(source, target); });
  } else {
    dispatch_word(slab.bytes(), [&](auto tag) {
      using Word = typename decltype(tag)::type;
      for_each([&](const char* source, char* target) { store_word(target, load_word<Word>(source)); });
    });
  }
}

// The strides of `values` stretched to `sizes`; false when they do not stretch.
bool stretch(const Tensor& values, const Sizes& sizes, int64_t* strides) {
  const int missing = sizes.rank - values.rank();
  if (missing < 0) return false;
  for (int d = 0; d < sizes.rank; ++d) {
    const int64_t own = d < missing ? 1 : values.size(d - missing);
    if (own != 1 && own != sizes.data[d]) return false;
    strides[d] = own == 1 ? 0 : values.stride(d - missing);
  }
  return true;
}

// One thread: several positions may be the same one.
bool write_places(const TensorIndices& indices, const Tensor& values, const int64_t* value_strides, Tensor& out) {
  const int64_t bytes = static_cast<int64_t>(element_size(out.dtype()));
  StridedCopy slab(element_size(out.dtype()));
  indices.add_slab(out.strides().data(), value_strides, false, &slab);
  slab.prepare();
  const char* source = values.data<char>();
  char* target = out.data<char>();
  const int64_t* to_strides = out.strides().data();
  if (!slab.is_one_word()) {
    return indices.for_each(to_strides, value_strides, 0, indices.positions(),
                            [&](int64_t to, int64_t from) { slab.run(source + from * bytes, target + to * bytes); });
  }
  return dispatch_word(slab.bytes(), [&](auto tag) {
    using Word = typename decltype(tag)::type;
    return indices.for_each(to_strides, value_strides, 0, indices.positions(), [&](int64_t to, int64_t from) {
      store_word(target + to * bytes, load_word<Word>(source + from * bytes));
    });
  });
}

template <typename T>
void add_run(T* sum, const T* term, int64_t n) {
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) add_to(sum + i, term[i]);
}

Error add_places(KernelContext& context, const TensorIndices& indices, const Tensor& values,
                 const int64_t* value_strides, Tensor& out) {
  Walk walk(2);
  indices.for_each_kept([&](int in_self, int in_result, int64_t size) {
    const int64_t strides[] = {out.stride(in_self), value_strides[in_result]};
    walk.add(size, strides);
  });
  return dispatch_real(context, out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto add_slab = [&](int64_t to, int64_t from) {
      for_each_run(walk, 0, walk.count, [&](const int64_t* at, int64_t n) {
        T* sum = out.data<T>() + to + at[0];
        const T* term = values.data<T>() + from + at[1];
        if (walk.step(0) == 1 && walk.step(1) == 1) return add_run(sum, term, n);
        for (int64_t i = 0; i < n; ++i) add_to(sum + i * walk.step(0), term[i * walk.step(1)]);
      });
    };
    const bool in_range = indices.for_each(out.strides().data(), value_strides, 0, indices.positions(), add_slab);
    return in_range ? Error::kOk : index_out_of_range(context);
  });
}

// Index tensors that broadcast to one another can name any number of positions, which nothing has to hold; honest ones
// name about as many as there are elements.
template <typename Args>
int64_t work_limit(const Args& args) {
  int64_t elements = 1024 + args.self.numel() + args.values.numel();
  for (const Tensor* index : args.indices) elements += index != nullptr ? index->numel() : 0;
  int64_t limit = 0;
  return checked_mul<int64_t>(elements, 64, &limit) ? limit : INT64_MAX;
}

// index_put's arguments, without out; `out` has self's sizes and dtype.
template <typename Args>
Error put(KernelContext& context, const Args& args, const Tensor& self, Tensor& out) {
  const Tensor& values = args.values;
  const bool accumulate = args.accumulate;
  TensorIndices indices;
  // Against out, which is what the positions are written in: its dimension order may be another.
  BERTH_RETURN_IF_ERROR(indices.read(context, out, args.indices));
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, values, out));
  BERTH_RETURN_IF_ERROR(check_memory(context, values));
  int64_t value_strides[kMaxRank];
  if (!stretch(values, indices.result(), value_strides)) {
    return context.fail(Error::kInvalidArgument, "index_put: values do not broadcast to the sizes of self[indices]");
  }
  copy_tensor(context, self, out);
  if (indices.result_count() == 0) return Error::kOk;
  if (indices.result_count() > work_limit(args)) {
    return context.fail(Error::kOutOfResources, "index_put: the indices name far more places than there are elements");
  }
  if (accumulate) return add_places(context, indices, values, value_strides, out);
  return write_places(indices, values, value_strides, out) ? Error::kOk : index_out_of_range(context);
}

}  // namespace

Error index_Tensor_out(KernelContext& context, const arguments::index_Tensor_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  TensorIndices indices;
  BERTH_RETURN_IF_ERROR(indices.read(context, self, args.indices));
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, indices.result()));
  if (out.numel() == 0) return Error::kOk;
  StridedCopy slab(element_size(self.dtype()));
  indices.add_slab(self.strides().data(), out.strides().data(), true, &slab);
  slab.prepare();
  const bool sparse = is_sparse(self, slab, indices.positions());
  const int64_t grain = sparse ? kFetchGrain : kGrainBytes / slab.bytes() + 1;
  Picked picked;
  context.parallel_for(indices.positions(), grain, [&](int64_t begin, int64_t end) {
    read_places(context, indices, slab, sparse, self, out, begin, end, &picked);
  });
  return picked.error(context);
}

Error index_put_out(KernelContext& context, const arguments::index_put_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes_of(self)));
  return put(context, args, self, out);
}

Error index_put_self(KernelContext& context, const arguments::index_put_self& args) {
  Tensor& self = args.self;
  BERTH_RETURN_IF_ERROR(check_memory(context, self));
  return put(context, args, self, self);
}

}  // namespace berth::portable
