// oneDNN's convolution and inner product as this room uses them: one primitive for all calls of equal numbers, shared
// by the whole process; what a call needs besides, by itself. Only in builds with BERTH_ONEDNN.
//
// The library is opened when the first primitive is asked for (onednn_library.h). Where it cannot be, there is none.
//
// Threads: oneDNN runs on one OpenMP team a calling thread. A primitive is made for a number of threads, and each call
// sets the size of the calling thread's team to it (omp_set_num_threads); with one thread no parallel region is opened.
#pragma once

#include <memory>
#include <string>

#include "kernels/cpu/conv_spec.h"

namespace berth::cpu {

/// Immutable; used from several threads.
class OneDnnPrimitive {
 public:
  struct Handles;

  /// Finds or makes the primitive for these numbers; null when oneDNN has none that is better than plain loops, and
  /// when there is no oneDNN. A residual is expected in the memory of the result; the activation is left to the caller.
  static std::shared_ptr<const OneDnnPrimitive> get(const ConvSpec& spec, int threads);
  static std::shared_ptr<const OneDnnPrimitive> get(const LinearSpec& spec, int threads);

  ~OneDnnPrimitive();

  /// How it wants the weight.
  const WeightLayout& weight() const { return weight_; }
  /// What a call takes from temporary memory.
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
  /// Null when oneDNN fails, for lack of memory that is.
  static std::unique_ptr<OneDnnCall> make(std::shared_ptr<const OneDnnPrimitive> primitive);
  ~OneDnnCall();

  /// Computes `out`. `weight` lies as primitive->weight() says; `bias` may be null if the numbers say that there is
  /// none; `scratch` has scratch_bytes(), aligned to 64. Of ours nothing is taken from the heap; oneDNN's own call
  /// takes some ten small blocks and frees them.
  Error run(const float* input, const float* weight, const float* bias, float* out, void* scratch);

  const OneDnnPrimitive& primitive() const { return *primitive_; }

 private:
  struct Memories;
  OneDnnCall();

  std::shared_ptr<const OneDnnPrimitive> primitive_;
  std::unique_ptr<Memories> memories_;
};

/// Whether there is a OneDnnCall in this process: pools let OpenMP's team work for our own kernels too then.
bool onednn_is_used();

/// The functions of the OpenMP that oneDNN runs on: of libgomp, or what else has them.
struct OpenMp {
  void (*set_num_threads)(int count);
  int (*thread_num)();
  /// What compilers call for "#pragma omp parallel".
  void (*parallel)(void (*function)(void*), void* data, unsigned threads, unsigned flags);
};

/// Null when there is no oneDNN. Opens it.
const OpenMp* onednn_openmp();

/// Whether it was opened, which nothing here does.
bool onednn_is_open();
/// Why there is no oneDNN: "libdnnl.so.3: cannot open shared object file"; empty where there is. Opens it.
std::string onednn_missing();
/// Opens this file instead, if oneDNN was not asked for yet: for tests. `name` must live on.
void open_onednn_as(const char* name);

/// "onednn 3.2.0 avx512": what a packing's text begins with; empty when there is no oneDNN. Opens it.
std::string onednn_source();

/// Makes oneDNN use nothing beyond this instruction set ("avx2", "avx512") from now on. False for another name, for one
/// that this machine lacks, and when oneDNN was used or limited already with another. Does not open it.
bool limit_onednn(const char* isa);

}  // namespace berth::cpu
