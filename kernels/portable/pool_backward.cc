// max_pool2d_with_indices_backward: each gradient goes to the input element that was the largest of its window.
#include <cstring>

#include "kernels/portable/dispatch.h"
#include "kernels/portable/index_add.h"
#include "kernels/portable/index_reader.h"
#include "kernels/portable/pool_arguments.h"

namespace berth::portable {
namespace {

template <typename T>
bool scatter_plane(const Pooling& p, const Tensor& indices, Tensor& grad_input, int64_t plane) {
  const T* from = p.out->data<T>() + p.plane_offset(*p.out, plane);
  const int64_t* positions = indices.data<int64_t>() + p.plane_offset(indices, plane);
  T* to = grad_input.data<T>() + p.plane_offset(grad_input, plane);
  for (int64_t y = 0; y < p.axis[0].out; ++y) {
    for (int64_t x = 0; x < p.axis[1].out; ++x) {
      const int64_t position = positions[y * p.row_stride(indices) + x * p.column_stride(indices)];
      if (position < 0 || position >= p.axis[0].in * p.axis[1].in) return false;
      T* sum = to + position / p.axis[1].in * p.row_stride(grad_input) +
               position % p.axis[1].in * p.column_stride(grad_input);
      add_to(sum, from[y * p.row_stride(*p.out) + x * p.column_stride(*p.out)]);
    }
  }
  return true;
}

Error check_gradients(KernelContext& context, const Pooling& p, const Tensor& indices) {
  if (p.out->sizes() != pooling_sizes(p).span() || indices.sizes() != p.out->sizes()) {
    return context.fail(Error::kInvalidArgument, "grad_output and indices must have the sizes of the pooling's result");
  }
  if (indices.dtype() != DType::kI64) {
    return context.fail(Error::kInvalidArgument, "max pooling's indices are i64");
  }
  if (!is_floating(p.out->dtype())) return unsupported_dtype(context);
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, *p.input, *p.out));
  return check_memory(context, *p.out, indices);
}

}  // namespace

Error max_pool2d_with_indices_backward_grad_input(KernelContext& context,
                                                  const arguments::max_pool2d_with_indices_backward_grad_input& args) {
  const Tensor& input = args.self;
  const Tensor& indices = args.indices;
  Tensor& grad_input = args.grad_input;
  Tensor result = args.grad_output;  // the pooling's, which is only read
  Pooling p;
  const WindowLists lists = {args.kernel_size, args.stride, args.padding, args.dilation, args.ceil_mode};
  BERTH_RETURN_IF_ERROR(read_pooling(context, input, lists, result, &p));
  BERTH_RETURN_IF_ERROR(check_gradients(context, p, indices));
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, input, grad_input));
  BERTH_RETURN_IF_ERROR(resize_out(context, grad_input, input.sizes()));
  BERTH_RETURN_IF_ERROR(check_memory(context, grad_input));
  if (grad_input.numel() == 0) return Error::kOk;
  std::memset(grad_input.raw(), 0, grad_input.nbytes());
  AllOf in_range;
  BERTH_RETURN_IF_ERROR(dispatch_floating(context, grad_input.dtype(), [&](auto tag) {
    context.parallel_for(p.planes(), grain_of(p.axis[0].out * p.axis[1].out), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        in_range.also(scatter_plane<typename decltype(tag)::type>(p, indices, grad_input, plane));
      }
    });
    return Error::kOk;
  }));
  return in_range ? Error::kOk : index_out_of_range(context);
}

}  // namespace berth::portable
