#include "backends/cuda/device/cuda_dnn.h"

#include "runtime/log.h"

#if BERTH_CUDA_HAS_CUDNN

#include <cudnn.h>

#include <cstdint>
#include <cstring>

#include "backends/cuda/device/cuda_library.h"
#include "backends/cuda/device/remembered.h"

namespace berth::cuda {
namespace {

using portable::Convolution;

constexpr const char* kName = "libcudnn.so." BERTH_TEXT(CUDNN_MAJOR);

// The functions of the library that are used here.
#define BERTH_FUNCTIONS(X) \
  X(create, cudnnCreate) \
  X(destroy, cudnnDestroy) \
  X(set_stream, cudnnSetStream) \
  X(create_tensor, cudnnCreateTensorDescriptor) \
  X(destroy_tensor, cudnnDestroyTensorDescriptor) \
  X(set_tensor, cudnnSetTensorNdDescriptor) \
  X(create_filter, cudnnCreateFilterDescriptor) \
  X(destroy_filter, cudnnDestroyFilterDescriptor) \
  X(set_filter, cudnnSetFilterNdDescriptor) \
  X(create_convolution, cudnnCreateConvolutionDescriptor) \
  X(destroy_convolution, cudnnDestroyConvolutionDescriptor) \
  X(set_convolution, cudnnSetConvolutionNdDescriptor) \
  X(set_groups, cudnnSetConvolutionGroupCount) \
  X(set_math, cudnnSetConvolutionMathType) \
  X(get_algorithm, cudnnGetConvolutionForwardAlgorithm_v7) \
  X(forward, cudnnConvolutionForward) \
  X(get_backward_algorithm, cudnnGetConvolutionBackwardDataAlgorithm_v7) \
  X(backward, cudnnConvolutionBackwardData) \
  X(add_tensor, cudnnAddTensor)
struct Api {
  BERTH_FUNCTIONS(BERTH_LIBRARY_MEMBER)
};

const Api* open_api() {
  static Api api;
  static const bool complete = [] {
    const SharedLibrary library = open_library(kName, BERTH_CUDNN_LIBRARY_DIR, "convolutions are slower");
    return library.is_open() BERTH_FUNCTIONS(BERTH_LIBRARY_FIND);
  }();
  return complete ? &api : nullptr;
}
#undef BERTH_FUNCTIONS

bool ok(cudnnStatus_t status) { return status == CUDNN_STATUS_SUCCESS; }

// The parameters of a convolution, without padding, so that they can be compared by their bytes.
struct Problem {
  int32_t type;
  int32_t rank;  // of the tensors: 4 or 5
  int32_t groups;
  int32_t has_bias;
  int32_t transposed;
  int32_t input[5];
  int32_t weight[5];
  int32_t out[5];
  int32_t bias[5];
  int32_t padding[3];
  int32_t stride[3];
  int32_t dilation[3];
};

bool type_of(DType dtype, cudnnDataType_t* type) {
  switch (dtype) {
    case DType::kF32: *type = CUDNN_DATA_FLOAT; return true;
    case DType::kF16: *type = CUDNN_DATA_HALF; return true;
    case DType::kBF16: *type = CUDNN_DATA_BFLOAT16; return true;
    case DType::kF64: *type = CUDNN_DATA_DOUBLE; return true;
    default: return false;
  }
}

// Strides there are 32-bit numbers, and its kernels load 16 bytes at once, which a caller's memory need not allow.
bool is_plain(const Tensor& tensor) {
  return tensor.is_contiguous() && tensor.numel() <= INT32_MAX && reinterpret_cast<uintptr_t>(tensor.raw()) % 16 == 0;
}

bool describe(const Convolution& c, Problem* problem) {
  std::memset(problem, 0, sizeof *problem);
  cudnnDataType_t type;
  if (!type_of(c.out->dtype(), &type)) return false;
  if (c.input->dtype() != c.out->dtype() || c.weight->dtype() != c.out->dtype()) return false;
  if (c.bias != nullptr && (c.bias->dtype() != c.out->dtype() || !is_plain(*c.bias))) return false;
  if (!is_plain(*c.input) || !is_plain(*c.weight) || !is_plain(*c.out) || c.groups > INT32_MAX) return false;
  problem->type = type;
  problem->groups = static_cast<int32_t>(c.groups);
  problem->has_bias = c.bias != nullptr ? 1 : 0;
  problem->transposed = c.transposed ? 1 : 0;
  // Two axes at least; the third, outermost one only where it is used.
  const int axes = c.spatial == 3 ? 3 : 2;
  problem->rank = 2 + axes;
  problem->input[0] = problem->out[0] = static_cast<int32_t>(c.batch);
  problem->input[1] = static_cast<int32_t>(c.in_channels * c.groups);
  problem->out[1] = problem->bias[1] = static_cast<int32_t>(c.out_channels * c.groups);
  problem->weight[0] = c.transposed ? problem->input[1] : problem->out[1];
  problem->weight[1] = static_cast<int32_t>(c.transposed ? c.out_channels : c.in_channels);
  problem->bias[0] = 1;
  for (int i = 0; i < axes; ++i) {
    const Convolution::Axis& axis = c.axis[3 - axes + i];
    if (axis.padding > INT32_MAX || axis.stride > INT32_MAX || axis.dilation > INT32_MAX) return false;
    problem->input[2 + i] = static_cast<int32_t>(axis.in);
    problem->weight[2 + i] = static_cast<int32_t>(axis.kernel);
    problem->out[2 + i] = static_cast<int32_t>(axis.out);
    problem->bias[2 + i] = 1;
    problem->padding[i] = static_cast<int32_t>(axis.padding);
    problem->stride[i] = static_cast<int32_t>(axis.stride);
    problem->dilation[i] = static_cast<int32_t>(axis.dilation);
  }
  return true;
}

class Dnn final : public CudaDnn {
 public:
  Dnn(const Api& api, Workspace workspace) : api_(api), workspace_(workspace) {}
  ~Dnn() override {
    if (input_ != nullptr) static_cast<void>(api_.destroy_tensor(input_));
    if (out_ != nullptr) static_cast<void>(api_.destroy_tensor(out_));
    if (bias_ != nullptr) static_cast<void>(api_.destroy_tensor(bias_));
    if (weight_ != nullptr) static_cast<void>(api_.destroy_filter(weight_));
    if (convolution_ != nullptr) static_cast<void>(api_.destroy_convolution(convolution_));
    if (handle_ != nullptr) static_cast<void>(api_.destroy(handle_));
  }

  bool start() {
    return ok(api_.create(&handle_)) && ok(api_.create_tensor(&input_)) && ok(api_.create_tensor(&out_)) &&
           ok(api_.create_tensor(&bias_)) && ok(api_.create_filter(&weight_)) &&
           ok(api_.create_convolution(&convolution_));
  }

  void use(cudaStream_t stream) override {
    if (has_stream_ && stream == stream_) return;
    stream_ = stream;
    has_stream_ = ok(api_.set_stream(handle_, stream));
  }

  bool convolution(const Convolution& c, bool accumulate) override {
    if (!has_stream_) return false;
    Problem problem;
    if (!describe(c, &problem) || !set_descriptors(problem)) return false;
    Choice& choice = choose(problem);
    if (!choice.possible) return false;
    const float one32 = 1;
    const float none32 = 0;
    const double one64 = 1;
    const double none64 = 0;
    const bool wide = problem.type == CUDNN_DATA_DOUBLE;
    const void* one = wide ? static_cast<const void*>(&one64) : &one32;
    const void* none = wide ? static_cast<const void*>(&none64) : &none32;
    if (!ok(api_.set_math(convolution_, choice.math))) return false;
    const void* start = accumulate ? one : none;
    // A transposed convolution is what carries the gradient of a forward one back to its input.
    const cudnnStatus_t status =
        c.transposed ? api_.backward(handle_, one, weight_, c.weight->raw(), input_, c.input->raw(), convolution_,
                                     choice.backward, workspace_.memory, workspace_.bytes, start, out_, c.out->raw())
                     : api_.forward(handle_, one, input_, c.input->raw(), weight_, c.weight->raw(), convolution_,
                                    choice.algorithm, workspace_.memory, workspace_.bytes, start, out_, c.out->raw());
    if (ok(status) &&
        (c.bias == nullptr || ok(api_.add_tensor(handle_, one, bias_, c.bias->raw(), one, out_, c.out->raw())))) {
      return true;
    }
    choice.possible = false;
    log_message(LogLevel::kWarning, "cuda: cuDNN failed (status %d): convolutions of %d to %d channels are slower",
                static_cast<int>(status), problem.input[1], problem.out[1]);
    return false;
  }

  void forget() override { choices_.clear(); }

 private:
  static constexpr int kMostAlgorithms = 16;

  struct Choice {
    bool possible = false;
    cudnnConvolutionFwdAlgo_t algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
    cudnnConvolutionBwdDataAlgo_t backward = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
    cudnnMathType_t math = CUDNN_FMA_MATH;
  };

  bool set_tensor(cudnnTensorDescriptor_t tensor, const Problem& problem, const int32_t* sizes) const {
    int strides[5];
    int stride = 1;
    for (int d = problem.rank - 1; d >= 0; --d) {
      strides[d] = stride;
      stride *= sizes[d];
    }
    return ok(api_.set_tensor(tensor, static_cast<cudnnDataType_t>(problem.type), problem.rank, sizes, strides));
  }

  bool set_descriptors(const Problem& problem) const {
    const auto type = static_cast<cudnnDataType_t>(problem.type);
    const cudnnDataType_t compute = type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    return set_tensor(input_, problem, problem.input) && set_tensor(out_, problem, problem.out) &&
           set_tensor(bias_, problem, problem.bias) &&
           ok(api_.set_filter(weight_, type, CUDNN_TENSOR_NCHW, problem.rank, problem.weight)) &&
           ok(api_.set_convolution(convolution_, problem.rank - 2, problem.padding, problem.stride, problem.dilation,
                                   CUDNN_CROSS_CORRELATION, compute)) &&
           ok(api_.set_groups(convolution_, problem.groups)) && ok(api_.set_math(convolution_, math_for(type)));
  }

  // No TF32 for f32.
  static cudnnMathType_t math_for(cudnnDataType_t type) {
    return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH;
  }

  // Winograd and Fourier algorithms have larger rounding errors.
  static bool is_exact(cudnnConvolutionFwdAlgo_t algorithm) {
    return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ||
           algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM ||
           algorithm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM;
  }
  // Algorithm 0 adds in an order that changes from run to run.
  static bool is_exact(cudnnConvolutionBwdDataAlgo_t algorithm) {
    return algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
  }

  Choice& choose(const Problem& problem) {
    return choices_.find(problem, [&] {
      return problem.transposed != 0 ? ask_library<cudnnConvolutionBwdDataAlgoPerf_t>(problem)
                                     : ask_library<cudnnConvolutionFwdAlgoPerf_t>(problem);
    });
  }

  cudnnStatus_t algorithms(int* count, cudnnConvolutionFwdAlgoPerf_t* found) const {
    return api_.get_algorithm(handle_, input_, weight_, convolution_, out_, kMostAlgorithms, count, found);
  }
  cudnnStatus_t algorithms(int* count, cudnnConvolutionBwdDataAlgoPerf_t* found) const {
    return api_.get_backward_algorithm(handle_, weight_, input_, convolution_, out_, kMostAlgorithms, count, found);
  }
  static void set_algorithm(Choice* choice, cudnnConvolutionFwdAlgo_t algorithm) { choice->algorithm = algorithm; }
  static void set_algorithm(Choice* choice, cudnnConvolutionBwdDataAlgo_t algorithm) { choice->backward = algorithm; }

  // The fastest of those that are exact and fit into the workspace.
  template <typename Found>
  Choice ask_library(const Problem& problem) const {
    Choice choice;
    Found found[kMostAlgorithms];
    int count = 0;
    if (!ok(algorithms(&count, found))) return choice;
    const auto type = static_cast<cudnnDataType_t>(problem.type);
    for (int i = 0; i < count && !choice.possible; ++i) {
      const bool right_math = math_for(type) != CUDNN_FMA_MATH || found[i].mathType != CUDNN_TENSOR_OP_MATH;
      if (!ok(found[i].status) || found[i].memory > workspace_.bytes || !is_exact(found[i].algo) || !right_math)
        continue;
      choice.possible = true;
      set_algorithm(&choice, found[i].algo);
      choice.math = math_for(type) == CUDNN_FMA_MATH ? CUDNN_FMA_MATH : found[i].mathType;
    }
    return choice;
  }

  const Api& api_;
  const Workspace workspace_;
  cudnnHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
  bool has_stream_ = false;
  cudnnTensorDescriptor_t input_ = nullptr;
  cudnnTensorDescriptor_t out_ = nullptr;
  cudnnTensorDescriptor_t bias_ = nullptr;
  cudnnFilterDescriptor_t weight_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
  Remembered<Problem, Choice> choices_;
};

}  // namespace

std::unique_ptr<CudaDnn> CudaDnn::create(Workspace workspace) {
  const Api* api = open_api();
  if (api == nullptr) return nullptr;
  auto dnn = std::make_unique<Dnn>(*api, workspace);
  if (dnn->start()) return dnn;
  log_message(LogLevel::kWarning, "cuda: cuDNN does not start; convolutions take the slower way");
  return nullptr;
}

}  // namespace berth::cuda

#else

namespace berth::cuda {

std::unique_ptr<CudaDnn> CudaDnn::create(Workspace) { return nullptr; }

}  // namespace berth::cuda

#endif
