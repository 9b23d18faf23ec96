// _cdist_forward and _pdist_forward: the p-norm of the difference of two rows. p = 0 counts the elements that differ,
// p = infinity takes the largest difference.
#include <cmath>

#include "kernels/portable/dispatch.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/narrow.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// A row of a tensor: its first element and how far apart its elements are.
template <typename T>
struct Row {
  const T* first;
  int64_t step;
};

template <typename T>
double distance(Row<T> a, Row<T> b, int64_t n, double p) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double x = std::abs(static_cast<double>(a.first[i * a.step]) - static_cast<double>(b.first[i * b.step]));
    if (p == 2) {
      sum += x * x;
    } else if (p == 1) {
      sum += x;
    } else if (p == 0) {
      sum += x != 0 ? 1 : 0;
    } else if (std::isinf(p)) {
      sum = x > sum || std::isnan(x) ? x : sum;  // NaN stays, for nothing is larger
    } else {
      sum += std::pow(x, p);
    }
  }
  if (p == 2) return std::sqrt(sum);
  return p == 0 || p == 1 || std::isinf(p) ? sum : std::pow(sum, 1 / p);
}

Error check_arguments(KernelContext& context, const Tensor& x, const Tensor& out, double p) {
  if (!is_floating(x.dtype())) return unsupported_dtype(context);
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, x, out));
  if (p >= 0) return Error::kOk;  // not so for NaN
  return context.fail(Error::kInvalidArgument, "the p of a distance must not be negative");
}

// Where batch `index` of the result's batch dimensions lies in `x`, whose own may be fewer, or 1.
int64_t batch_offset(const Tensor& x, const Sizes& batch, int64_t index) {
  int64_t offset = 0;
  for (int d = batch.rank - 1; d >= 0; --d) {
    const int own = d - (batch.rank - (x.rank() - 2));
    if (own >= 0 && x.size(own) != 1) offset += index % batch.data[d] * x.stride(own);
    index /= batch.data[d];
  }
  return offset;
}

template <typename T>
void run_cdist(KernelContext& context, const Tensor& x1, const Tensor& x2, double p, const Sizes& batch, Tensor& out) {
  const int last1 = x1.rank() - 1;
  const int last2 = x2.rank() - 1;
  const int last = out.rank() - 1;
  const int64_t rows = x1.size(last1 - 1);
  const int64_t columns = x2.size(last2 - 1);
  const int64_t length = x1.size(last1);
  context.parallel_for(out.numel() / columns, grain_of(columns * (length + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* a = x1.data<T>() + batch_offset(x1, batch, i / rows) + i % rows * x1.stride(last1 - 1);
      const T* b = x2.data<T>() + batch_offset(x2, batch, i / rows);
      T* to = out.data<T>() + element_offset(out, i * columns);
      for (int64_t j = 0; j < columns; ++j) {
        const Row<T> other = {b + j * x2.stride(last2 - 1), x2.stride(last2)};
        to[j * out.stride(last)] = narrow<T>(distance<T>({a, x1.stride(last1)}, other, length, p));
      }
    }
  });
}

template <typename T>
void run_pdist(const Tensor& self, double p, Tensor& out) {
  int64_t written = 0;
  for (int64_t i = 0; i < self.size(0); ++i) {
    for (int64_t j = i + 1; j < self.size(0); ++j) {
      const Row<T> a = {self.data<T>() + i * self.stride(0), self.stride(1)};
      const Row<T> b = {self.data<T>() + j * self.stride(0), self.stride(1)};
      out.data<T>()[written++] = narrow<T>(distance<T>(a, b, self.size(1), p));
    }
  }
}

// The sizes of the result: what the batch dimensions broadcast to, rows of x1, rows of x2.
Error cdist_sizes(KernelContext& context, const Tensor& x1, const Tensor& x2, Sizes* batch, Sizes* result) {
  if (x1.rank() < 2 || x2.rank() < 2 || x1.size(x1.rank() - 1) != x2.size(x2.rank() - 1)) {
    return context.fail(Error::kInvalidArgument, "cdist takes two tensors of rank 2 or more whose rows are as long");
  }
  const auto batch_sizes = [](const Tensor& x) { return x.sizes().subspan(0, x.sizes().size() - 2); };
  if (!broadcast_sizes(batch_sizes(x1), batch) || !broadcast_sizes(batch_sizes(x2), batch)) {
    return context.fail(Error::kInvalidArgument, "cdist's batch dimensions do not broadcast to one another");
  }
  *result = *batch;
  push_size(result, x1.size(x1.rank() - 2));
  push_size(result, x2.size(x2.rank() - 2));
  return Error::kOk;
}

}  // namespace

// compute_mode chooses how PyTorch computes the same; here there is one way.
Error cdist_forward_out(KernelContext& context, const arguments::cdist_forward_out& args) {
  const Tensor& x1 = args.x1;
  const Tensor& x2 = args.x2;
  const double p = args.p;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(check_arguments(context, x1, out, p));
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, x2, out));
  Sizes batch;
  Sizes result;
  BERTH_RETURN_IF_ERROR(cdist_sizes(context, x1, x2, &batch, &result));
  BERTH_RETURN_IF_ERROR(resize_out(context, out, result.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, x1, x2));
  BERTH_RETURN_IF_ERROR(check_memory(context, out));
  if (out.numel() == 0) return Error::kOk;
  return dispatch_floating(context, out.dtype(), [&](auto tag) {
    run_cdist<typename decltype(tag)::type>(context, x1, x2, p, batch, out);
    return Error::kOk;
  });
}

Error pdist_forward_out(KernelContext& context, const arguments::pdist_forward_out& args) {
  const Tensor& self = args.self;
  const double p = args.p;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(check_arguments(context, self, out, p));
  if (self.rank() != 2) return context.fail(Error::kInvalidArgument, "pdist takes a tensor of rank 2");
  Sizes result;
  const int64_t n = self.size(0);
  if (!push_size(&result, n < 2 ? 0 : n * (n - 1) / 2)) {
    return context.fail(Error::kInvalidArgument, "pdist's result has 2^31 elements or more");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, result.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, self, out));
  return dispatch_floating(context, out.dtype(), [&](auto tag) {
    run_pdist<typename decltype(tag)::type>(self, p, out);
    return Error::kOk;
  });
}

}  // namespace berth::portable
