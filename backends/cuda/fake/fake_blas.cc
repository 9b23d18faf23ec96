#include "backends/cuda/fake/fake_blas.h"

#include <cublasLt.h>

#include <atomic>
#include <cstring>
#include <memory>

#include "backends/cuda/fake/fake_runtime.h"
#include "backends/cuda/queue.h"

struct FakeBlas {};

namespace berth::cuda::fake {
namespace {

std::atomic<int64_t> questions{0};
std::atomic<int64_t> products{0};

using Layout = cublasLtMatrixLayoutOpaque_t;

size_t bytes_of(cudaDataType_t type) { return type == CUDA_R_64F ? 8 : 4; }

// Elements from the first to behind the last one.
int64_t extent(const Layout& layout) {
  const auto columns = static_cast<int64_t>(layout.columns);
  return (layout.batch - 1) * layout.batch_stride + (columns - 1) * layout.leading + static_cast<int64_t>(layout.rows);
}

void check_matrix(const void* memory, const Layout& layout, uint32_t alignment, const char* what) {
  require(memory != nullptr, what);
  require(layout.rows > 0 && layout.columns > 0 && layout.batch > 0, what);
  require(layout.leading >= static_cast<int64_t>(layout.rows), "cuBLASLt: a leading dimension is below the rows");
  require(alignment > 0 && reinterpret_cast<uintptr_t>(memory) % alignment == 0,
          "cuBLASLt: an address is less aligned than was said");
}

struct Matrix {
  const char* base;
  Layout layout;
  bool transposed;

  double at(int64_t batch, int64_t row, int64_t column) const {
    if (transposed) std::swap(row, column);
    const int64_t i = batch * layout.batch_stride + column * layout.leading + row;
    if (layout.type == CUDA_R_64F) return reinterpret_cast<const double*>(base)[i];
    return reinterpret_cast<const float*>(base)[i];
  }
  void require_memory() const {
    require(is_device_memory(base, static_cast<size_t>(extent(layout)) * bytes_of(layout.type)),
            "cuBLASLt: a matrix is not in the device's memory when it is read");
  }
};

bool overlap(const void* a, const Layout& a_layout, const void* b, const Layout& b_layout) {
  const auto* const first = static_cast<const char*>(a);
  const auto* const second = static_cast<const char*>(b);
  const int64_t first_bytes = extent(a_layout) * static_cast<int64_t>(bytes_of(a_layout.type));
  const int64_t second_bytes = extent(b_layout) * static_cast<int64_t>(bytes_of(b_layout.type));
  return first < second + second_bytes && second < first + first_bytes;
}

bool same(const Layout& a, const Layout& b) {
  return a.type == b.type && a.rows == b.rows && a.columns == b.columns && a.leading == b.leading &&
         a.batch == b.batch && a.batch_stride == b.batch_stride;
}

double scalar(const void* value, cudaDataType_t type) {
  return type == CUDA_R_64F ? *static_cast<const double*>(value) : *static_cast<const float*>(value);
}

cublasLtMatmulAlgo_t problem_of(const cublasLtMatmulDescOpaque_t& desc, const Layout& a, const Layout& d) {
  cublasLtMatmulAlgo_t problem{};
  problem.rows = d.rows;
  problem.columns = d.columns;
  problem.depth = desc.transposed[0] != 0 ? a.rows : a.columns;
  problem.batch = d.batch;
  return problem;
}

struct Product {
  Matrix a, b, c;
  Layout layout;
  char* d;
  double alpha, beta;
  const char* bias;
  int64_t depth;

  double element(int64_t batch, int64_t row, int64_t column) const {
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k) sum += a.at(batch, row, k) * b.at(batch, k, column);
    sum *= alpha;
    if (beta != 0) sum += beta * c.at(batch, row, column);
    if (bias == nullptr) return sum;
    return sum + (layout.type == CUDA_R_64F ? reinterpret_cast<const double*>(bias)[row]
                                            : reinterpret_cast<const float*>(bias)[row]);
  }
  int64_t count() const { return layout.batch * static_cast<int64_t>(layout.rows * layout.columns); }

  // Calls use(number, batch, row, column) for each element of the result.
  template <typename Use>
  void each(const Use& use) const {
    int64_t number = 0;
    for (int64_t batch = 0; batch < layout.batch; ++batch) {
      for (int64_t column = 0; column < static_cast<int64_t>(layout.columns); ++column) {
        for (int64_t row = 0; row < static_cast<int64_t>(layout.rows); ++row) use(number++, batch, row, column);
      }
    }
  }
  void store(int64_t batch, int64_t row, int64_t column, double x) const {
    const int64_t i = batch * layout.batch_stride + column * layout.leading + row;
    if (layout.type == CUDA_R_64F) {
      reinterpret_cast<double*>(d)[i] = x;
    } else {
      reinterpret_cast<float*>(d)[i] = static_cast<float>(x);
    }
  }
};

}  // namespace

BlasCounts blas_counts() { return {questions, products}; }

}  // namespace berth::cuda::fake

using namespace berth::cuda::fake;

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (this_call_fails()) return CUBLAS_STATUS_NOT_INITIALIZED;
  return *handle = new FakeBlas, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDescOpaque_t* desc, size_t size,
                                               cublasComputeType_t compute, cudaDataType_t scale) {
  if (size != sizeof *desc) return CUBLAS_STATUS_INVALID_VALUE;
  *desc = {compute, scale, {0, 0}, CUBLASLT_EPILOGUE_DEFAULT, nullptr};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDescOpaque_t* desc,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              size_t size) {
  if (size != (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER ? 8 : 4)) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: std::memcpy(&desc->transposed[0], value, size); break;
    case CUBLASLT_MATMUL_DESC_TRANSB: std::memcpy(&desc->transposed[1], value, size); break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE: std::memcpy(&desc->epilogue, value, size); break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: std::memcpy(&desc->bias, value, size); break;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayoutOpaque_t* layout, size_t size, cudaDataType_t type,
                                                 uint64_t rows, uint64_t columns, int64_t leading) {
  if (size != sizeof *layout) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = {type, rows, columns, leading, 1, 0};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayoutOpaque_t* layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                size_t size) {
  const bool counts = attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT;
  if (size != (counts ? sizeof(int32_t) : sizeof(int64_t))) return CUBLAS_STATUS_INVALID_VALUE;
  void* const member = counts ? static_cast<void*>(&layout->batch) : &layout->batch_stride;
  std::memcpy(member, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreferenceOpaque_t* preference, size_t size) {
  if (size != sizeof *preference) return CUBLAS_STATUS_INVALID_VALUE;
  *preference = {0, {256, 256, 256, 256}};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreferenceOpaque_t* preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    size_t size) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    if (size != sizeof(uint64_t)) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&preference->workspace, value, size);
    return CUBLAS_STATUS_SUCCESS;
  }
  if (size != sizeof(uint32_t)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDescOpaque_t* desc,
                                              cublasLtMatrixLayoutOpaque_t* a, cublasLtMatrixLayoutOpaque_t*,
                                              cublasLtMatrixLayoutOpaque_t*, cublasLtMatrixLayoutOpaque_t* d,
                                              cublasLtMatmulPreferenceOpaque_t* preference, int most,
                                              cublasLtMatmulHeuristicResult_t* results, int* count) {
  ++questions;
  *count = 0;
  if (this_call_fails() || most < 1 || (d->type != CUDA_R_32F && d->type != CUDA_R_64F))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  cublasLtMatmulAlgo_t algorithm = problem_of(*desc, *a, *d);
  algorithm.workspace = static_cast<uint64_t>(d->batch) * d->rows * d->columns * sizeof(double);
  std::memcpy(algorithm.alignment, preference->alignment, sizeof algorithm.alignment);
  if (algorithm.workspace > preference->workspace) return CUBLAS_STATUS_NOT_SUPPORTED;
  results[0] = {algorithm, algorithm.workspace, CUBLAS_STATUS_SUCCESS};
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDescOpaque_t* desc, const void* alpha, const void* a,
                              cublasLtMatrixLayoutOpaque_t* a_layout, const void* b,
                              cublasLtMatrixLayoutOpaque_t* b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayoutOpaque_t* c_layout, void* d, cublasLtMatrixLayoutOpaque_t* d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t workspace_bytes,
                              cudaStream_t stream) {
  const cublasLtMatmulAlgo_t asked = problem_of(*desc, *a_layout, *d_layout);
  require(asked.rows == algorithm->rows && asked.columns == algorithm->columns && asked.depth == algorithm->depth &&
              asked.batch == algorithm->batch,
          "cuBLASLt: an algorithm was chosen for another problem");
  require(workspace_bytes >= algorithm->workspace, "cuBLASLt: the workspace is too small");
  check_matrix(a, *a_layout, algorithm->alignment[0], "cuBLASLt: A is not there");
  check_matrix(b, *b_layout, algorithm->alignment[1], "cuBLASLt: B is not there");
  check_matrix(c, *c_layout, algorithm->alignment[2], "cuBLASLt: C is not there");
  check_matrix(d, *d_layout, algorithm->alignment[3], "cuBLASLt: D is not there");
  const auto is = [&](const Layout& layout, bool transposed, uint64_t rows, uint64_t columns) {
    return layout.batch == d_layout->batch && layout.type == d_layout->type &&
           layout.rows == (transposed ? columns : rows) && layout.columns == (transposed ? rows : columns);
  };
  require(is(*a_layout, desc->transposed[0] != 0, asked.rows, asked.depth) &&
              is(*b_layout, desc->transposed[1] != 0, asked.depth, asked.columns) &&
              is(*c_layout, false, asked.rows, asked.columns),
          "cuBLASLt: the matrices do not fit");
  const double factor = scalar(beta, desc->scale);
  require(!overlap(a, *a_layout, d, *d_layout) && !overlap(b, *b_layout, d, *d_layout),
          "cuBLASLt: a factor lies where the result is written");
  require(factor == 0 || (c == d && same(*c_layout, *d_layout)) || !overlap(c, *c_layout, d, *d_layout),
          "cuBLASLt: C overlaps D and is not D");
  require(d_layout->batch == 1 || d_layout->batch_stride >= static_cast<int64_t>(d_layout->rows) ||
              d_layout->leading >= static_cast<int64_t>(d_layout->rows) * d_layout->batch,
          "cuBLASLt: results of a batch overlap");
  const bool has_bias = desc->epilogue == CUBLASLT_EPILOGUE_BIAS;
  require(!has_bias || (desc->bias != nullptr && reinterpret_cast<uintptr_t>(desc->bias) % 16 == 0),
          "cuBLASLt: a bias is not aligned to 16");
  if (this_call_fails()) return CUBLAS_STATUS_EXECUTION_FAILED;
  ++products;
  const Product product = {{static_cast<const char*>(a), *a_layout, desc->transposed[0] != 0},
                           {static_cast<const char*>(b), *b_layout, desc->transposed[1] != 0},
                           {static_cast<const char*>(c), *c_layout, false},
                           *d_layout,
                           static_cast<char*>(d),
                           scalar(alpha, desc->scale),
                           factor,
                           has_bias ? static_cast<const char*>(desc->bias) : nullptr,
                           static_cast<int64_t>(asked.depth)};
  auto* const partial = static_cast<double*>(workspace);
  // Two launches, as of a split depth: what another stream does to the workspace between them shows.
  berth::cuda::defer_launch(stream, [product, partial] {
    product.a.require_memory();
    product.b.require_memory();
    if (product.beta != 0) product.c.require_memory();
    require(is_device_memory(partial, static_cast<size_t>(product.count()) * sizeof(double)),
            "cuBLASLt: the workspace is not there when it is written");
    product.each([&](int64_t number, int64_t batch, int64_t row, int64_t column) {
      partial[number] = product.element(batch, row, column);
    });
  });
  berth::cuda::defer_launch(stream, [product, partial] {
    Matrix{product.d, product.layout, false}.require_memory();
    product.each([&](int64_t number, int64_t batch, int64_t row, int64_t column) {
      product.store(batch, row, column, partial[number]);
    });
  });
  return CUBLAS_STATUS_SUCCESS;
}
