#include "backends/cuda/device/cuda_blas.h"

#include <cublasLt.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "backends/cuda/device/cuda_library.h"
#include "backends/cuda/device/remembered.h"
#include "runtime/log.h"

namespace berth::cuda {
namespace {

using portable::Product;

constexpr const char* kName = "libcublasLt.so." BERTH_TEXT(CUBLAS_VER_MAJOR);

// The functions of the library that are used here.
#define BERTH_FUNCTIONS(X) \
  X(create, cublasLtCreate) \
  X(destroy, cublasLtDestroy) \
  X(matmul, cublasLtMatmul) \
  X(get_heuristic, cublasLtMatmulAlgoGetHeuristic) \
  X(desc_init, cublasLtMatmulDescInit_internal) \
  X(desc_set, cublasLtMatmulDescSetAttribute) \
  X(layout_init, cublasLtMatrixLayoutInit_internal) \
  X(layout_set, cublasLtMatrixLayoutSetAttribute) \
  X(preference_init, cublasLtMatmulPreferenceInit_internal) \
  X(preference_set, cublasLtMatmulPreferenceSetAttribute)
struct Api {
  BERTH_FUNCTIONS(BERTH_LIBRARY_MEMBER)
};

const Api* open_api() {
  static Api api;
  static const bool complete = [] {
    const SharedLibrary library = open_library(kName, BERTH_CUDA_LIBRARY_DIR, "matrix products are slower");
    return library.is_open() BERTH_FUNCTIONS(BERTH_LIBRARY_FIND);
  }();
  return complete ? &api : nullptr;
}
#undef BERTH_FUNCTIONS

// A column-major matrix, as in cuBLAS; `transposed` if the factor is its transpose.
struct Matrix {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t leading = 0;
  int64_t transposed = 0;  // 0 or 1, and no padding
};

// The m x k factor with strides `stride_m` and `stride_k`. False when neither dimension is dense.
bool describe(int64_t m, int64_t k, int64_t stride_m, int64_t stride_k, Matrix* matrix) {
  if ((m == 1 || stride_m == 1) && (k == 1 || stride_k >= m)) {
    *matrix = {m, k, k == 1 ? m : stride_k, 0};
    return true;
  }
  if ((k == 1 || stride_k == 1) && (m == 1 || stride_m >= k)) {
    *matrix = {k, m, m == 1 ? k : stride_m, 1};
    return true;
  }
  return false;
}

// The largest power of two, up to 256, that divides the address.
uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<uintptr_t>(address) | 256;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

enum class Start : int64_t { kNone, kRow, kMatrix };

// The key for which an algorithm is chosen; without padding, so that it can be compared by its bytes.
struct Problem {
  int64_t type;
  int64_t batch;
  Matrix first, second, result, start_matrix;  // the product as cuBLAS does it: result = first * second, transposed
  int64_t first_stride, second_stride, result_stride, start_stride;
  Start start;
  int64_t first_alignment, second_alignment, result_alignment, start_alignment;
};

struct Types {
  cudaDataType_t data;
  cudaDataType_t scale;
  cublasComputeType_t compute;
};

bool types_of(DType dtype, Types* types) {
  switch (dtype) {
    case DType::kF32: *types = {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F}; return true;
    case DType::kF16: *types = {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F}; return true;
    case DType::kBF16: *types = {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F}; return true;
    case DType::kF64: *types = {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F}; return true;
    default: return false;
  }
}

bool is_matrix_product(const Product& p) {
  for (int i = 0; i < 3; ++i) {
    const Product::Axis& axis = p.axis[i];
    // One tap without borders; a grid of one axis.
    if (axis.taps != 1 || axis.origin != 0 || (axis.count - 1) * axis.step >= axis.size) return false;
    if (i < 2 && axis.count != 1) return false;
  }
  return p.channels > 0 && (p.batch[0].count == 1 || p.batch[1].count == 1);
}

// The same product of the transposed matrices: C by rows where it was by columns.
Product transposed(const Product& p) {
  const Product::Axis& axis = p.axis[2];
  Product other = p;
  other.rows = axis.count;
  other.row_a = axis.b * axis.step;
  other.row_c = axis.c;
  other.channel_a = p.channel_b;
  other.channel_b = p.channel_a;
  other.axis[2] = {p.rows, p.rows, 1, 0, 1, 1, 0, p.row_a, p.row_c};
  for (Product::Batch& batch : other.batch) std::swap(batch.a, batch.b);
  std::swap(other.a, other.b);
  std::swap(other.start_row, other.start_column);
  return other;
}

bool is_by_columns(const Product& p) {
  return is_matrix_product(p) && p.axis[2].count > 1 && p.axis[2].c != 1 && (p.rows == 1 || p.row_c == 1);
}

// C has rows, cuBLAS columns: it multiplies the transposed factors in the other order, and gets C transposed.
bool describe_problem(const Product& p, Problem* problem) {
  std::memset(static_cast<void*>(problem), 0, sizeof *problem);
  if (!is_matrix_product(p)) return false;
  const Product::Axis& axis = p.axis[2];
  const Product::Batch& batch = p.batch[0].count == 1 ? p.batch[1] : p.batch[0];
  const int64_t columns = axis.count;
  Matrix first, second, result;
  if (!describe(columns, p.channels, axis.b * axis.step, p.channel_b, &first) ||
      !describe(p.channels, p.rows, p.channel_a, p.row_a, &second) ||
      !describe(columns, p.rows, axis.c, p.row_c, &result) || result.transposed) {
    return false;
  }
  problem->type = static_cast<int64_t>(p.dtype);
  problem->batch = batch.count;
  const auto set = [](const Matrix& from, Matrix* to) {
    to->rows = from.rows;
    to->columns = from.columns;
    to->leading = from.leading;
    to->transposed = from.transposed;
  };
  set(first, &problem->first);
  set(second, &problem->second);
  set(result, &problem->result);
  problem->first_stride = batch.b;
  problem->second_stride = batch.a;
  problem->result_stride = batch.c;
  problem->first_alignment = alignment_of(p.b);
  problem->second_alignment = alignment_of(p.a);
  problem->result_alignment = alignment_of(p.c);
  if (p.start == nullptr) return true;
  problem->start_alignment = alignment_of(p.start);
  problem->start_stride = batch.start;
  const bool dense = p.start_column == 1 || columns == 1;
  const bool one_row = p.start_row == 0 && (batch.count == 1 || batch.start == 0);
  if (dense && one_row && p.start_scale.real == 1 && problem->start_alignment >= 16) {
    problem->start = Start::kRow;
    return true;
  }
  Matrix start;
  if (!dense || !describe(columns, p.rows, 1, p.start_row, &start) || start.transposed) return false;
  set(start, &problem->start_matrix);
  problem->start = Start::kMatrix;
  return true;
}

class LtBlas final : public CudaBlas {
 public:
  LtBlas(const Api& api, cublasLtHandle_t handle, Workspace workspace)
      : api_(api), handle_(handle), workspace_(workspace) {}
  ~LtBlas() override { static_cast<void>(api_.destroy(handle_)); }

  void use(cudaStream_t stream) override { stream_ = stream; }

  bool product(const Product& product) override {
    return is_by_columns(product) ? run(transposed(product)) : run(product);
  }

  void forget() override { choices_.clear(); }

 private:
  struct Call {
    cublasLtMatmulDescOpaque_t description;
    cublasLtMatrixLayoutOpaque_t first, second, start, result;
  };
  struct Choice {
    bool possible = false;
    cublasLtMatmulAlgo_t algorithm;
  };

  bool run(const Product& p) {
    Problem problem;
    Types types;
    if (!types_of(p.dtype, &types) || !describe_problem(p, &problem)) return false;
    Call call;
    if (!prepare(p, problem, types, &call)) return false;
    Choice& choice = choose(problem, call);
    if (!choice.possible) return false;
    const float real32[2] = {static_cast<float>(p.a_scale.real), static_cast<float>(p.start_scale.real)};
    const double real64[2] = {p.a_scale.real, p.start_scale.real};
    const bool wide = types.scale == CUDA_R_64F;
    const float none32 = 0;
    const double none64 = 0;
    const void* alpha = wide ? static_cast<const void*>(&real64[0]) : &real32[0];
    const void* beta = wide ? static_cast<const void*>(&real64[1]) : &real32[1];
    if (problem.start != Start::kMatrix) beta = wide ? static_cast<const void*>(&none64) : &none32;
    const void* start = problem.start == Start::kMatrix ? p.start : p.c;
    const cublasStatus_t status =
        api_.matmul(handle_, &call.description, alpha, p.b, &call.first, p.a, &call.second, beta, start, &call.start,
                    p.c, &call.result, &choice.algorithm, workspace_.memory, workspace_.bytes, stream_);
    choice.possible = status == CUBLAS_STATUS_SUCCESS;
    if (!choice.possible) report_refusal(p, static_cast<int>(status));
    return choice.possible;
  }

  bool set(Call* call, cublasLtMatmulDescAttributes_t attribute, const void* value, size_t bytes) const {
    return api_.desc_set(&call->description, attribute, value, bytes) == CUBLAS_STATUS_SUCCESS;
  }

  bool lay_out(cublasLtMatrixLayoutOpaque_t* layout, const Types& types, const Matrix& matrix, int64_t batch,
               int64_t stride) const {
    const auto rows = static_cast<uint64_t>(matrix.rows);
    const auto columns = static_cast<uint64_t>(matrix.columns);
    if (api_.layout_init(layout, sizeof *layout, types.data, rows, columns, matrix.leading) != CUBLAS_STATUS_SUCCESS) {
      return false;
    }
    if (batch == 1) return true;
    if (batch > INT32_MAX) return false;
    const auto count = static_cast<int32_t>(batch);
    return api_.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count) == CUBLAS_STATUS_SUCCESS &&
           api_.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride) ==
               CUBLAS_STATUS_SUCCESS;
  }

  bool prepare(const Product& p, const Problem& problem, const Types& types, Call* call) const {
    if (api_.desc_init(&call->description, sizeof call->description, types.compute, types.scale) !=
        CUBLAS_STATUS_SUCCESS) {
      return false;
    }
    const auto operation = [](const Matrix& matrix) -> int32_t {
      return matrix.transposed != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
    };
    const int32_t first = operation(problem.first);
    const int32_t second = operation(problem.second);
    if (!set(call, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first) ||
        !set(call, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second)) {
      return false;
    }
    if (problem.start == Start::kRow) {
      const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
      if (!set(call, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue) ||
          !set(call, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p.start, sizeof p.start)) {
        return false;
      }
    }
    const bool matrix = problem.start == Start::kMatrix;
    const Matrix& start = matrix ? problem.start_matrix : problem.result;
    const int64_t start_stride = matrix ? problem.start_stride : problem.result_stride;
    return lay_out(&call->first, types, problem.first, problem.batch, problem.first_stride) &&
           lay_out(&call->second, types, problem.second, problem.batch, problem.second_stride) &&
           lay_out(&call->start, types, start, problem.batch, start_stride) &&
           lay_out(&call->result, types, problem.result, problem.batch, problem.result_stride);
  }

  // The library's first choice for a problem; the same for equal ones.
  Choice& choose(const Problem& problem, const Call& call) {
    return choices_.find(problem, [&] {
      Choice found;
      found.possible = ask_library(problem, call, &found.algorithm);
      return found;
    });
  }

  static void report_refusal(const Product& p, int status) {
    log_message(LogLevel::kWarning, "cuda: cuBLASLt failed (status %d): %lld products of %lld x %lld x %lld are slower",
                status, static_cast<long long>(p.batches()), static_cast<long long>(p.rows),
                static_cast<long long>(p.columns()), static_cast<long long>(p.channels));
  }

  bool ask_library(const Problem& problem, const Call& call, cublasLtMatmulAlgo_t* algorithm) const {
    cublasLtMatmulPreferenceOpaque_t preference;
    if (api_.preference_init(&preference, sizeof preference) != CUBLAS_STATUS_SUCCESS) return false;
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const void* value, size_t bytes) {
      return api_.preference_set(&preference, attribute, value, bytes) == CUBLAS_STATUS_SUCCESS;
    };
    const uint64_t workspace = workspace_.bytes;
    const auto first = static_cast<uint32_t>(problem.first_alignment);
    const auto second = static_cast<uint32_t>(problem.second_alignment);
    const auto result = static_cast<uint32_t>(problem.result_alignment);
    const uint32_t start = problem.start == Start::kMatrix ? static_cast<uint32_t>(problem.start_alignment) : result;
    if (!prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace) ||
        !prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &first, sizeof first) ||
        !prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &second, sizeof second) ||
        !prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &start, sizeof start) ||
        !prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &result, sizeof result)) {
      return false;
    }
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    Call copy = call;
    const cublasStatus_t status = api_.get_heuristic(handle_, &copy.description, &copy.first, &copy.second, &copy.start,
                                                     &copy.result, &preference, 1, &found, &count);
    if (status != CUBLAS_STATUS_SUCCESS || count < 1 || found.state != CUBLAS_STATUS_SUCCESS) return false;
    *algorithm = found.algo;
    return true;
  }

  const Api& api_;
  const cublasLtHandle_t handle_;
  const Workspace workspace_;
  cudaStream_t stream_ = nullptr;
  Remembered<Problem, Choice> choices_;
};

}  // namespace

std::unique_ptr<CudaBlas> CudaBlas::create(Workspace workspace) {
  const Api* api = open_api();
  if (api == nullptr) return nullptr;
  cublasLtHandle_t handle = nullptr;
  if (const cublasStatus_t status = api->create(&handle); status != CUBLAS_STATUS_SUCCESS) {
    log_message(LogLevel::kWarning, "cuda: cuBLASLt does not start (status %d)", static_cast<int>(status));
    return nullptr;
  }
  return std::make_unique<LtBlas>(*api, handle, workspace);
}

}  // namespace berth::cuda
