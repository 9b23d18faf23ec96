#include "backends/cuda/fake/fake_dnn.h"

#include <cudnn.h>

#include <array>
#include <atomic>

#include "backends/cuda/fake/fake_runtime.h"
#include "backends/cuda/queue.h"

namespace berth::cuda::fake {
namespace {

constexpr int kMostRank = 5;
constexpr double kOff = 1.001;  // by which results are that no caller should want
constexpr size_t kMoreThanAny = size_t{1} << 40;

using Sizes = std::array<int, kMostRank>;

size_t bytes_of(cudnnDataType_t type) { return type == CUDNN_DATA_DOUBLE ? 8 : 4; }

// A tensor, or a filter, which has no gaps.
struct Layout {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int rank = 0;  // 0: not set
  Sizes sizes{};
  Sizes strides{};

  int64_t count() const {
    int64_t product = 1;
    for (int d = 0; d < rank; ++d) product *= sizes[d];
    return product;
  }
  // From the first element to behind the last one.
  size_t bytes() const {
    int64_t last = 0;
    for (int d = 0; d < rank; ++d) last += static_cast<int64_t>(sizes[d] - 1) * strides[d];
    return static_cast<size_t>(last + 1) * bytes_of(type);
  }
  int64_t place(const Sizes& at) const {
    int64_t sum = 0;
    for (int d = 0; d < rank; ++d) sum += static_cast<int64_t>(at[d]) * strides[d];
    return sum;
  }
  // Calls use(position) for each element.
  template <typename Use>
  void each(const Use& use) const {
    Sizes at{};
    for (int64_t i = 0; i < count(); ++i) {
      use(at);
      for (int d = rank - 1; d >= 0 && ++at[d] == sizes[d]; --d) at[d] = 0;
    }
  }
};

double load(const void* memory, const Layout& layout, const Sizes& at) {
  const int64_t place = layout.place(at);
  if (layout.type == CUDNN_DATA_DOUBLE) return static_cast<const double*>(memory)[place];
  return static_cast<const float*>(memory)[place];
}

void store(void* memory, const Layout& layout, const Sizes& at, double x) {
  const int64_t place = layout.place(at);
  if (layout.type == CUDNN_DATA_DOUBLE) {
    static_cast<double*>(memory)[place] = x;
  } else {
    static_cast<float*>(memory)[place] = static_cast<float>(x);
  }
}

struct Steps {
  int axes = 0;  // 0: not set
  int groups = 1;
  std::array<int, 3> padding{};
  std::array<int, 3> stride{};
  std::array<int, 3> dilation{};
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

// y is the convolution of x with w, or x is what carries y back.
struct Problem {
  Layout x, w, y;
  Steps steps;
  bool back = false;

  const Layout& result() const { return back ? x : y; }

  bool fits() const {
    if (x.rank == 0 || w.rank == 0 || y.rank == 0 || steps.axes == 0) return false;
    if (x.rank != steps.axes + 2 || w.rank != x.rank || y.rank != x.rank) return false;
    if (w.type != x.type || y.type != x.type || steps.compute != x.type) return false;
    if (x.sizes[0] != y.sizes[0] || x.sizes[1] != w.sizes[1] * steps.groups || y.sizes[1] != w.sizes[0]) return false;
    if (w.sizes[0] % steps.groups != 0) return false;
    for (int i = 0; i < steps.axes; ++i) {
      const int reach = steps.dilation[i] * (w.sizes[2 + i] - 1) + 1;
      const int room = x.sizes[2 + i] + 2 * steps.padding[i] - reach;
      if (room < 0 || room / steps.stride[i] + 1 != y.sizes[2 + i]) return false;
    }
    return true;
  }

  // Calls use(position in x, in w, in y) for each product.
  template <typename Use>
  void each_product(const Sizes& at, const Use& use) const {
    const int in = w.sizes[1];
    const int out = w.sizes[0] / steps.groups;
    const int group = back ? at[1] / in : at[1] / out;
    w.each([&](const Sizes& tap) {
      const bool mine = back ? tap[1] == at[1] % in && tap[0] / out == group : tap[0] == at[1];
      if (!mine) return;
      Sizes from = at;
      from[1] = back ? tap[0] : group * in + tap[1];
      for (int i = 0; i < steps.axes; ++i) {
        const int step = tap[2 + i] * steps.dilation[i] - steps.padding[i];
        const int place = back ? at[2 + i] - step : at[2 + i] * steps.stride[i] + step;
        if (back && place % steps.stride[i] != 0) return;
        from[2 + i] = back ? place / steps.stride[i] : place;
        if (place < 0 || from[2 + i] >= (back ? y : x).sizes[2 + i]) return;
      }
      back ? use(at, tap, from) : use(from, tap, at);
    });
  }
};

struct Call {
  Problem problem;
  const char* x;  // what is read: x, or y of one that goes back
  const char* w;
  char* result;
  double alpha, beta;
  double off;

  double element(const Sizes& at) const {
    double sum = 0;
    problem.each_product(at, [&](const Sizes& in, const Sizes& tap, const Sizes& out) {
      const Layout& read = problem.back ? problem.y : problem.x;
      sum += load(x, read, problem.back ? out : in) * load(w, problem.w, tap);
    });
    return alpha * off * sum;
  }
  void require_memory() const {
    const Layout& read = problem.back ? problem.y : problem.x;
    require(is_device_memory(x, read.bytes()) && is_device_memory(w, problem.w.bytes()) &&
                is_device_memory(result, problem.result().bytes()),
            "cuDNN: a tensor is not in the device's memory when it is used");
  }
  void put(const Sizes& at, double x_sum) const {
    const Layout& layout = problem.result();
    store(result, layout, at, x_sum + (beta == 0 ? 0 : beta * load(result, layout, at)));
  }
};

std::atomic<int64_t> questions{0};
std::atomic<int64_t> convolutions{0};
std::atomic<bool> failing{false};

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto* const first = static_cast<const char*>(a);
  const auto* const second = static_cast<const char*>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

bool is_aligned(const void* memory) { return memory != nullptr && reinterpret_cast<uintptr_t>(memory) % 16 == 0; }

double scalar(const void* value, cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? *static_cast<const double*>(value) : *static_cast<const float*>(value);
}

size_t memory_of(const Problem& problem) { return static_cast<size_t>(problem.result().count()) * sizeof(double); }

// What an algorithm needs; `exact` are those that a caller who wants the same numbers in every run may take.
struct Algorithm {
  size_t memory;
  bool exact;
};
Algorithm algorithm_of(const Problem& problem, cudnnConvolutionFwdAlgo_t algorithm) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM: return {0, true};
    case CUDNN_CONVOLUTION_FWD_ALGO_GEMM: return {memory_of(problem), true};
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD: return {0, false};
    default: return {kMoreThanAny, true};
  }
}
Algorithm algorithm_of(const Problem& problem, cudnnConvolutionBwdDataAlgo_t algorithm) {
  return {algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 ? memory_of(problem) : 0,
          algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
}

bool is_known(cudnnDataType_t type) { return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE; }

}  // namespace

DnnCounts dnn_counts() { return {questions, convolutions}; }
void fail_convolutions(bool fail) { failing = fail; }

}  // namespace berth::cuda::fake

using namespace berth::cuda::fake;

struct FakeDnn {
  bool has_stream = false;
  cudaStream_t stream = nullptr;
};
struct FakeDnnTensor {
  Layout layout;
};
struct FakeDnnFilter {
  Layout layout;
};
struct FakeDnnConvolution {
  Steps steps;
};

namespace {

template <typename Made>
cudnnStatus_t make(Made** made) {
  if (this_call_fails()) return CUDNN_STATUS_ALLOC_FAILED;
  return *made = new Made, CUDNN_STATUS_SUCCESS;
}
template <typename Made>
cudnnStatus_t end(Made* made) {
  delete made;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set(Layout* layout, cudnnDataType_t type, int rank, const int sizes[], const int strides[]) {
  if (rank < 4 || rank > kMostRank) return CUDNN_STATUS_BAD_PARAM;
  Layout made;
  made.type = type;
  made.rank = rank;
  for (int d = 0; d < rank; ++d) {
    if (sizes[d] <= 0 || strides[d] <= 0) return CUDNN_STATUS_BAD_PARAM;
    made.sizes[d] = sizes[d];
    made.strides[d] = strides[d];
  }
  *layout = made;
  return CUDNN_STATUS_SUCCESS;
}

template <typename Found>
cudnnStatus_t answer(const Problem& problem, const Found* list, int size, int most, int* count, Found* found) {
  ++questions;
  *count = 0;
  if (!problem.fits() || most < 1) return CUDNN_STATUS_BAD_PARAM;
  if (!is_known(problem.x.type) || this_call_fails()) return CUDNN_STATUS_NOT_SUPPORTED;
  for (; *count < size && *count < most; ++*count) found[*count] = list[*count];
  return CUDNN_STATUS_SUCCESS;
}

template <typename Kind>
cudnnStatus_t run(cudnnHandle_t handle, const Problem& problem, Kind kind, const void* alpha, const void* x,
                  const void* w, void* workspace, size_t workspace_bytes, const void* beta, void* result) {
  require(handle->has_stream, "cuDNN: a handle has no stream");
  require(problem.fits(), "cuDNN: the tensors do not fit each other");
  require(is_aligned(x) && is_aligned(w) && is_aligned(result), "cuDNN: a tensor is not aligned to 16");
  const Algorithm algorithm = algorithm_of(problem, kind);
  require(workspace_bytes >= algorithm.memory, "cuDNN: the workspace is too small");
  const Layout& read = problem.back ? problem.y : problem.x;
  const Layout& written = problem.result();
  require(!overlap(x, read.bytes(), result, written.bytes()) && !overlap(w, problem.w.bytes(), result, written.bytes()),
          "cuDNN: what is read lies where the result is written");
  const auto in_workspace = [&](const void* memory, size_t bytes) {
    return algorithm.memory > 0 && overlap(memory, bytes, workspace, algorithm.memory);
  };
  require(
      !in_workspace(x, read.bytes()) && !in_workspace(w, problem.w.bytes()) && !in_workspace(result, written.bytes()),
      "cuDNN: a tensor lies in the workspace");
  if (failing || this_call_fails()) return CUDNN_STATUS_EXECUTION_FAILED;
  ++convolutions;
  const cudnnDataType_t type = problem.x.type;
  const bool rounds = type == CUDNN_DATA_FLOAT && problem.steps.math != CUDNN_FMA_MATH;
  const Call call = {problem,
                     static_cast<const char*>(x),
                     static_cast<const char*>(w),
                     static_cast<char*>(result),
                     scalar(alpha, type),
                     scalar(beta, type),
                     algorithm.exact && !rounds ? 1.0 : kOff};
  if (algorithm.memory == 0) {
    berth::cuda::defer_launch(handle->stream, [call] {
      call.require_memory();
      call.problem.result().each([&](const Sizes& at) { call.put(at, call.element(at)); });
    });
    return CUDNN_STATUS_SUCCESS;
  }
  // Two launches: what another stream does to the workspace between them shows.
  auto* const partial = static_cast<double*>(workspace);
  berth::cuda::defer_launch(handle->stream, [call, partial, memory = algorithm.memory] {
    call.require_memory();
    require(is_device_memory(partial, memory), "cuDNN: the workspace is not there when it is written");
    int64_t number = 0;
    call.problem.result().each([&](const Sizes& at) { partial[number++] = call.element(at); });
  });
  berth::cuda::defer_launch(handle->stream, [call, partial] {
    call.require_memory();
    int64_t number = 0;
    call.problem.result().each([&](const Sizes& at) { call.put(at, partial[number++]); });
  });
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) { return make(handle); }
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return end(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  *handle = {true, stream};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) { return make(tensor); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) { return end(tensor); }
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int rank,
                                         const int sizes[], const int strides[]) {
  return set(&tensor->layout, type, rank, sizes, strides);
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter) { return make(filter); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) { return end(filter); }
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int rank, const int sizes[]) {
  if (rank < 4 || rank > kMostRank || format != CUDNN_TENSOR_NCHW) return CUDNN_STATUS_BAD_PARAM;
  Sizes strides{};
  int stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= sizes[d];
  }
  return set(&filter->layout, type, rank, sizes, strides.data());
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* convolution) { return make(convolution); }
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution) { return end(convolution); }
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convolution, int axes, const int padding[],
                                              const int stride[], const int dilation[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
  if (axes < 2 || axes > 3 || mode != CUDNN_CROSS_CORRELATION) return CUDNN_STATUS_BAD_PARAM;
  Steps steps;
  steps.axes = axes;
  steps.compute = compute;
  for (int i = 0; i < axes; ++i) {
    if (padding[i] < 0 || stride[i] <= 0 || dilation[i] <= 0) return CUDNN_STATUS_BAD_PARAM;
    steps.padding[i] = padding[i];
    steps.stride[i] = stride[i];
    steps.dilation[i] = dilation[i];
  }
  convolution->steps = steps;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution, int groups) {
  if (groups <= 0) return CUDNN_STATUS_BAD_PARAM;
  convolution->steps.groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t math) {
  convolution->steps.math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t x,
                                                     cudnnFilterDescriptor_t w,
                                                     cudnnConvolutionDescriptor_t convolution,
                                                     cudnnTensorDescriptor_t y, int most, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* found) {
  const Problem problem = {x->layout, w->layout, y->layout, convolution->steps, false};
  constexpr auto kGood = CUDNN_STATUS_SUCCESS;
  const cudnnConvolutionFwdAlgoPerf_t list[] = {
      {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, kGood, 0.1f, 0, CUDNN_FMA_MATH},
      {CUDNN_CONVOLUTION_FWD_ALGO_FFT, CUDNN_STATUS_NOT_SUPPORTED, -1, 0, CUDNN_FMA_MATH},
      {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, kGood, 0.2f, kMoreThanAny, CUDNN_FMA_MATH},
      {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, kGood, 0.3f, memory_of(problem), CUDNN_TENSOR_OP_MATH},
      {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, kGood, 0.4f, memory_of(problem), CUDNN_FMA_MATH},
      {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, kGood, 0.5f, 0, CUDNN_FMA_MATH},
  };
  return answer(problem, list, 6, most, count, found);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_layout,
                                      const void* x, cudnnFilterDescriptor_t w_layout, const void* w,
                                      cudnnConvolutionDescriptor_t convolution, cudnnConvolutionFwdAlgo_t algorithm,
                                      void* workspace, size_t workspace_bytes, const void* beta,
                                      cudnnTensorDescriptor_t y_layout, void* y) {
  const Problem problem = {x_layout->layout, w_layout->layout, y_layout->layout, convolution->steps, false};
  return run(handle, problem, algorithm, alpha, x, w, workspace, workspace_bytes, beta, y);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, cudnnFilterDescriptor_t w,
                                                          cudnnTensorDescriptor_t dy,
                                                          cudnnConvolutionDescriptor_t convolution,
                                                          cudnnTensorDescriptor_t dx, int most, int* count,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* found) {
  const Problem problem = {dx->layout, w->layout, dy->layout, convolution->steps, true};
  constexpr auto kGood = CUDNN_STATUS_SUCCESS;
  const cudnnConvolutionBwdDataAlgoPerf_t list[] = {
      {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, kGood, 0.1f, 0, CUDNN_FMA_MATH},
      {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, kGood, 0.2f, 0, CUDNN_FMA_MATH},
      {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, kGood, 0.3f, memory_of(problem), CUDNN_FMA_MATH},
  };
  return answer(problem, list, 3, most, count, found);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha, cudnnFilterDescriptor_t w_layout,
                                           const void* w, cudnnTensorDescriptor_t dy_layout, const void* dy,
                                           cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           size_t workspace_bytes, const void* beta, cudnnTensorDescriptor_t dx_layout,
                                           void* dx) {
  const Problem problem = {dx_layout->layout, w_layout->layout, dy_layout->layout, convolution->steps, true};
  return run(handle, problem, algorithm, alpha, dy, w, workspace, workspace_bytes, beta, dx);
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t a_layout, const void* a,
                             const void* beta, cudnnTensorDescriptor_t c_layout, void* c) {
  const Layout& from = a_layout->layout;
  const Layout& to = c_layout->layout;
  require(handle->has_stream, "cuDNN: a handle has no stream");
  require(from.rank > 0 && from.rank == to.rank && from.type == to.type, "cuDNN: what is added is of another kind");
  for (int d = 0; d < to.rank; ++d) {
    require(from.sizes[d] == 1 || from.sizes[d] == to.sizes[d], "cuDNN: what is added does not fit");
  }
  require(is_aligned(a) && is_aligned(c) && !overlap(a, from.bytes(), c, to.bytes()),
          "cuDNN: what is added is not aligned to 16, or lies in the result");
  const double factor = scalar(alpha, to.type);
  const double kept = scalar(beta, to.type);
  berth::cuda::defer_launch(handle->stream, [from, to, a, c, factor, kept] {
    require(is_device_memory(a, from.bytes()) && is_device_memory(c, to.bytes()),
            "cuDNN: a tensor is not in the device's memory when it is used");
    to.each([&](const Sizes& at) {
      Sizes place = at;
      for (int d = 0; d < to.rank; ++d) place[d] = from.sizes[d] == 1 ? 0 : at[d];
      store(c, to, at, factor * load(a, from, place) + kept * load(c, to, at));
    });
  });
  return CUDNN_STATUS_SUCCESS;
}
