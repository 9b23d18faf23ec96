// Engine: one instruction's convolution or product, made ready: what conv.cc hands a call to.
#pragma once

#include <memory>

#include "kernels/cpu/conv_spec.h"

namespace berth::cpu {

struct Operands {
  const float* input = nullptr;
  const float* bias = nullptr;  // null for none
  float* out = nullptr;         // holds the residual, if there is one
};

/// Used by one thread at a time.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const char* name() const = 0;
  /// How it wants the weight.
  virtual const WeightLayout& weight() const = 0;
  /// Called once, before the first run, with what every run will have: it may make its own form of the weight, on the
  /// threads of `pool` (may be null).
  virtual Error take_weight(const float* /*weight*/, ThreadPool* /*pool*/) { return Error::kOk; }
  virtual Error run(KernelContext& context, const Operands& operands, const float* weight) = 0;
};

/// What an engine is, before there is one for an instruction; cheap to ask for again.
class EngineKind {
 public:
  virtual ~EngineKind() = default;
  /// What run() takes from temporary memory, padding included.
  virtual size_t temp_bytes() const = 0;
  virtual std::unique_ptr<Engine> make() const = 0;
};

/// kFaster, or for tests and benchmarks one engine alone.
enum class Prefer { kFaster, kOneDnn, kTiles, kWinograd2, kWinograd4 };

/// What kFaster means from now on in this process. Not while another thread loads a method.
void set_preferred_engine(Prefer prefer);

/// The engine for these numbers on so many threads; null for the portable kernel.
std::unique_ptr<EngineKind> choose_engine(const ConvSpec& spec, int threads, Prefer prefer = Prefer::kFaster);
std::unique_ptr<EngineKind> choose_engine(const LinearSpec& spec, int threads, Prefer prefer = Prefer::kFaster);

}  // namespace berth::cpu
