// oneDNN's convolution and inner product: one primitive for all calls with equal parameters, shared by the whole
// process, and the state of each call. Only in builds with BERTH_ONEDNN.
//
// The library is opened for the first primitive (onednn_library.h). If that fails, there are no primitives.
//
// Threads: oneDNN runs on one OpenMP team a calling thread. A primitive is made for a number of threads, and each call
// sets the size of the calling thread's team to it (omp_set_num_threads); with one thread no parallel region is opened.
#pragma once

#include <memory>
#include <string>

#include "kernels/cpu/conv_spec.h"

namespace berth::cpu {

/// Immutable; thread-safe.
class OneDnnPrimitive {
 public:
  struct Handles;

  /// Finds or creates the primitive for these parameters; null when oneDNN has none that is better than plain loops,
  /// and when there is no oneDNN. A residual must be in the memory of the result; the caller applies the activation.
  static std::shared_ptr<const OneDnnPrimitive> get(const ConvSpec& spec, int threads);
  static std::shared_ptr<const OneDnnPrimitive> get(const LinearSpec& spec, int threads);

  ~OneDnnPrimitive();

  /// The packing that it needs for the weight.
  const WeightLayout& weight() const { return weight_; }
  /// The temp memory of a call.
  size_t scratch_bytes() const { return scratch_bytes_; }
  /// oneDNN's name of its implementation: "jit:avx512_core".
  const char* implementation() const;

 private:
  friend class OneDnnCall;
  OneDnnPrimitive();
  template <typename Spec>
  static std::shared_ptr<const OneDnnPrimitive> find_or_make(const Spec& spec, int threads);

  std::unique_ptr<Handles> handles_;
  WeightLayout weight_;
  size_t scratch_bytes_ = 0;
  int threads_ = 1;
};

/// One instruction's use of a primitive. Used by one thread at a time.
class OneDnnCall {
 public:
  /// Null when oneDNN runs out of memory.
  static std::unique_ptr<OneDnnCall> make(std::shared_ptr<const OneDnnPrimitive> primitive);
  ~OneDnnCall();

  /// Computes `out`. `weight` has the packing primitive->weight(); `bias` is null if the parameters have none;
  /// `scratch` has scratch_bytes(), aligned to 64. Berth does not allocate from the heap; oneDNN allocates and frees
  /// about ten small blocks.
  Error run(const float* input, const float* weight, const float* bias, float* out, void* scratch);

  const OneDnnPrimitive& primitive() const { return *primitive_; }

 private:
  struct Memories;
  OneDnnCall();

  std::shared_ptr<const OneDnnPrimitive> primitive_;
  std::unique_ptr<Memories> memories_;
};

/// Whether there is a OneDnnCall in this process; if so, thread pools use OpenMP's team for Berth's kernels too.
bool onednn_is_used();

/// The functions of oneDNN's OpenMP, of libgomp or a compatible library.
struct OpenMp {
  void (*set_num_threads)(int count);
  int (*thread_num)();
  /// The function that compilers call for "#pragma omp parallel".
  void (*parallel)(void (*function)(void*), void* data, unsigned threads, unsigned flags);
};

/// Null when there is no oneDNN. Opens it.
const OpenMp* onednn_openmp();

/// Whether it was opened; does not open it.
bool onednn_is_open();
/// Why there is no oneDNN: "libdnnl.so.3: cannot open shared object file"; empty where there is. Opens it.
std::string onednn_missing();
/// For tests: opens this file instead, if oneDNN was not opened yet. `name` must stay valid.
void open_onednn_as(const char* name);

/// "onednn 3.2.0 avx512": what a packing's text begins with; empty when there is no oneDNN. Opens it.
std::string onednn_source();

/// Makes oneDNN use nothing beyond this instruction set ("avx2", "avx512") from now on. False for another name, for one
/// that this machine lacks, and when oneDNN was used or limited already with another. Does not open it.
bool limit_onednn(const char* isa);

}  // namespace berth::cpu
