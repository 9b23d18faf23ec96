// Engine: the prepared convolution or matrix product of one instruction.
#pragma once

#include <memory>

#include "kernels/cpu/conv_spec.h"

namespace berth::cpu {

struct Operands {
  const float* input = nullptr;
  const float* bias = nullptr;  // null for none
  float* out = nullptr;         // holds the residual, if there is one
  /// Elements of bf16 in place of `input` and `out`, where the engine was made for them.
  const uint16_t* narrow_input = nullptr;
  uint16_t* narrow_out = nullptr;
};

/// Some rows of one image, for a part of a result. Rows are those of memory: a whole width of pixels with all channels.
struct RowCall {
  const float* input = nullptr;        // its row `in_first`
  int64_t in_first = 0, in_count = 0;  // all rows that the result's see and that the image has
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* out = nullptr;  // its row `out_first`; holds the residual, if there is one
  int64_t out_first = 0, out_count = 0;
  float* scratch = nullptr;
};

/// Used by one thread at a time.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const char* name() const = 0;
  /// The packing that it needs for the weight, with what it computes from it. REQUIRES: forget_layout() was not called.
  virtual const WeightLayout& weight() const = 0;
  /// Gives back what weight() takes: it is larger than much of what an engine needs for its runs.
  virtual void forget_layout() {}
  /// The element type that it needs for it: f32, or what the call has.
  virtual DType weight_type() const { return DType::kF32; }
  /// Computes weight().derived_numel floats from the packed weight: in the compiler, for the file.
  virtual void derive(const float* /*weight*/, float* /*derived*/) {}
  /// Called once, before the first run, with the arguments that do not change. `derived` is what derive() computes,
  /// where the file has it; if it is null, it is computed here, on the threads of `pool` (may be null).
  virtual Error take_weight(const float* /*weight*/, const float* /*derived*/, ThreadPool* /*pool*/) {
    return Error::kOk;
  }
  /// From now on calls have these sizes of batch and axes, or of rows. False where the engine cannot run them; then
  /// nothing has changed. Takes nothing from the heap. REQUIRES: the engine was made for a spec with open sizes that
  /// otherwise is the same.
  virtual bool resize(const ConvSpec& /*spec*/) { return false; }
  virtual bool resize(const LinearSpec& /*spec*/) { return false; }
  /// The floats of scratch memory that run_rows() needs for so many rows of the result; -1 where it cannot be called.
  virtual int64_t row_scratch(int64_t /*rows*/) const { return -1; }
  /// Computes rows of one image on the calling thread, bit for bit as run() does. Any number of threads may call it.
  /// REQUIRES: row_scratch() is not negative; the engine was made for known sizes.
  virtual void run_rows(const RowCall& /*call*/) const {}
  /// `weight` has elements of weight_type().
  virtual Error run(KernelContext& context, const Operands& operands, const float* weight) = 0;
};

/// An engine that has the packing on the heap.
class PackedEngine : public Engine {
 public:
  const WeightLayout& weight() const override { return *layout_; }
  void forget_layout() override { layout_.reset(); }

 protected:
  explicit PackedEngine(const WeightLayout& layout) : layout_(std::make_unique<const WeightLayout>(layout)) {}

 private:
  std::unique_ptr<const WeightLayout> layout_;
};

/// The kind of an engine, before it is created for an instruction; cheap to compute again.
class EngineKind {
 public:
  virtual ~EngineKind() = default;
  /// The bytes of temp memory that run() needs, padding included.
  virtual size_t temp_bytes() const = 0;
  virtual std::unique_ptr<Engine> make() const = 0;
};

/// kFaster, or a single engine for tests and benchmarks.
enum class Prefer { kFaster, kOneDnn, kTiles, kWinograd2, kWinograd4 };

/// Replaces kFaster in this process. Must not be called while another thread loads a method.
void set_preferred_engine(Prefer prefer);

/// The engine for these parameters on this number of threads; null for the portable kernel.
std::unique_ptr<EngineKind> choose_engine(const ConvSpec& spec, int threads, Prefer prefer = Prefer::kFaster);
std::unique_ptr<EngineKind> choose_engine(const LinearSpec& spec, int threads, Prefer prefer = Prefer::kFaster);

/// Whether this convolution, its weight wide, is done with so many fewer products that those of its narrow weight would
/// take longer.
bool prefers_fewer_products(const ConvSpec& spec, int threads);

}  // namespace berth::cpu
