#include "kernels/portable/elementwise.h"

#include "kernels/portable/broadcast.h"
#include "kernels/portable/iterate.h"

namespace berth::portable {
namespace {

constexpr int64_t kGrain = 16384;
// Elements that go through the buffers at a time.
constexpr int64_t kChunk = 256;
// Shorter runs than this are gathered into a buffer rather than given to the loop one by one.
constexpr int64_t kShortRun = 24;

constexpr size_t kMaxInputs = 3;

struct Buffer {
  alignas(64) unsigned char bytes[kChunk * 8];
};

const char* at(const void* base, int64_t element, DType dtype) {
  return static_cast<const char*>(base) + element * static_cast<int64_t>(element_size(dtype));
}
char* at(void* base, int64_t element, DType dtype) {
  return static_cast<char*>(base) + element * static_cast<int64_t>(element_size(dtype));
}

// Rounding to a 16-bit type is the only conversion to `common` that a second one to `compute` does not do by itself
// when loading: whole numbers fit in their promoted type.
bool rounds_when_loaded(const Input& input) {
  const bool short_float = has_16_bits(input.common);
  return short_float && input.tensor->dtype() != input.common;
}

void convert_through(DType from, const void* source, DType common, DType to, void* target, int64_t n) {
  if (common == to || common == from) return convert_elements(from, source, to, target, n);
  Buffer middle;
  convert_elements(from, source, common, middle.bytes, n);
  convert_elements(common, middle.bytes, to, target, n);
}

class Runner {
 public:
  Runner(const Output& output, Span<const Input> inputs, Loop loop, const Scalars& scalars)
      : output_(output), inputs_(inputs), loop_(loop), scalars_(scalars), walk_(make_walk(output, inputs)) {
    by_runs_ = walk_.rank == 1 || walk_.inner() >= kShortRun;
    out_direct_ = output.tensor->dtype() == output.compute;
    buffered_ = !out_direct_;
    for (size_t k = 0; k < inputs_.size(); ++k) prepare(k);
  }

  void run(int64_t begin, int64_t end) const {
    if (by_runs_) {
      int64_t position = begin;
      for_each_run(walk_, begin, end, [&](const int64_t* offsets, int64_t n) {
        run_pieces(position, n, offsets);
        position += n;
      });
    } else {
      run_pieces(begin, end - begin, nullptr);
    }
  }

 private:
  enum class Way : uint8_t {
    kScalar,    // one element of the loop's type
    kSplat,     // one element of the tensor
    kRun,       // along a run: the elements themselves, or one of them stretched
    kDense,     // the elements lie in the order of the walk
    kGathered,  // one by one into a buffer
  };

  static Walk make_walk(const Output& output, Span<const Input> inputs) {
    const Tensor* tensors[Walk::kMaxOperands] = {output.tensor};
    size_t count = 1;
    for (const Input& input : inputs) {
      if (input.tensor != nullptr) tensors[count++] = input.tensor;
    }
    return walk_broadcast(Span<const Tensor* const>(tensors, count));
  }

  void prepare(size_t k) {
    const Input& input = inputs_[k];
    if (input.tensor == nullptr) {
      ways_[k] = Way::kScalar;
      return;
    }
    const int operand = ++operands_;
    operand_[k] = operand;
    through_[k] = rounds_when_loaded(input) ? input.common : input.compute;
    direct_[k] = input.tensor->dtype() == input.compute;
    const int64_t step = walk_.step(operand);
    if (walk_.is_splat(operand)) {
      ways_[k] = Way::kSplat;
      load(k, input.tensor->raw(), splats_[k].bytes, 1);
      return;
    }
    if (walk_.is_dense(operand)) {
      ways_[k] = Way::kDense;
    } else if (by_runs_ && (step == 0 || step == 1)) {
      ways_[k] = Way::kRun;
      splat_run_[k] = step == 0;
    } else {
      ways_[k] = Way::kGathered;
      gathers_[k] = operand_walk(walk_, operand);
    }
    buffered_ = buffered_ || ways_[k] == Way::kGathered || !direct_[k];
  }

  void load(size_t k, const void* source, void* target, int64_t n) const {
    convert_through(inputs_[k].tensor->dtype(), source, through_[k], inputs_[k].compute, target, n);
  }

  // Positions [begin, begin + n) of the walk; inside one run when `offsets`, its start, is given.
  void run_pieces(int64_t begin, int64_t n, const int64_t* offsets) const {
    if (!buffered_) return run_piece(begin, n, offsets, 0, nullptr);
    Buffer buffers[2 * kMaxInputs];
    for (int64_t done = 0; done < n; done += kChunk) {
      run_piece(begin + done, n - done < kChunk ? n - done : kChunk, offsets, done, buffers);
    }
  }

  void run_piece(int64_t begin, int64_t n, const int64_t* offsets, int64_t done, Buffer* buffers) const {
    Chunk chunk;
    chunk.n = n;
    chunk.scalars = &scalars_;
    for (size_t k = 0; k < kMaxInputs; ++k) {
      chunk.in[k] = nullptr;
      chunk.splat[k] = true;
      if (k < inputs_.size()) bring(k, begin, offsets, done, buffers, &chunk);
    }
    void* place = at(output_.tensor->raw(), begin, output_.tensor->dtype());
    if (out_direct_) {
      chunk.out = place;
      loop_(chunk);
      return;
    }
    Buffer result;
    chunk.out = result.bytes;
    loop_(chunk);
    convert_through(output_.compute, result.bytes, output_.common, output_.tensor->dtype(), place, n);
  }

  void bring(size_t k, int64_t begin, const int64_t* offsets, int64_t done, Buffer* buffers, Chunk* chunk) const {
    const Input& input = inputs_[k];
    if (ways_[k] == Way::kScalar) {
      chunk->in[k] = input.scalar;
      return;
    }
    if (ways_[k] == Way::kSplat) {
      chunk->in[k] = splats_[k].bytes;
      return;
    }
    const DType dtype = input.tensor->dtype();
    const void* base = input.tensor->raw();
    const void* source = nullptr;
    int64_t count = chunk->n;
    chunk->splat[k] = false;
    if (ways_[k] == Way::kDense) {
      source = at(base, begin, dtype);
    } else if (ways_[k] == Way::kRun) {
      chunk->splat[k] = splat_run_[k];
      source = at(base, offsets[operand_[k]] + (splat_run_[k] ? 0 : done), dtype);
      if (splat_run_[k]) count = 1;
    } else {
      unsigned char* gathered = buffers[2 * k].bytes;
      gather_elements(gathers_[k], base, element_size(dtype), begin, count, gathered);
      source = gathered;
    }
    if (!direct_[k]) {
      unsigned char* converted = buffers[2 * k + 1].bytes;
      load(k, source, converted, count);
      source = converted;
    }
    chunk->in[k] = source;
  }

  const Output& output_;
  Span<const Input> inputs_;
  Loop loop_;
  const Scalars& scalars_;
  Walk walk_;
  int operands_ = 0;
  bool by_runs_ = false;
  bool out_direct_ = false;
  bool buffered_ = false;
  Way ways_[kMaxInputs];
  int operand_[kMaxInputs];
  bool direct_[kMaxInputs];
  bool splat_run_[kMaxInputs];
  DType through_[kMaxInputs];
  Walk gathers_[kMaxInputs] = {Walk(1), Walk(1), Walk(1)};
  struct {
    alignas(8) unsigned char bytes[8];
  } splats_[kMaxInputs];
};

// Every tensor has the loop's type and lies in memory as the output does.
bool all_direct(const Output& output, Span<const Input> inputs) {
  if (output.tensor->dtype() != output.compute) return false;
  for (const Input& input : inputs) {
    if (input.tensor == nullptr) continue;
    if (input.tensor->dtype() != input.compute || !same_layout(*input.tensor, *output.tensor)) return false;
  }
  return true;
}

void run_direct(KernelContext& context, const Output& output, Span<const Input> inputs, Loop loop,
                const Scalars& scalars) {
  context.parallel_for(output.tensor->numel(), kGrain, [&](int64_t begin, int64_t end) {
    Chunk chunk = {at(output.tensor->raw(), begin, output.compute), {}, {true, true, true}, end - begin, &scalars};
    for (size_t k = 0; k < inputs.size(); ++k) {
      const Input& input = inputs[k];
      chunk.splat[k] = input.tensor == nullptr;
      chunk.in[k] = input.tensor == nullptr ? input.scalar : at(input.tensor->raw(), begin, input.compute);
    }
    loop(chunk);
  });
}

// u64 does not fit in i64, and no type holds both.
bool is_computed(DType dtype, DType compute) {
  return is_real(dtype) && (dtype != DType::kU64 || compute == DType::kU64 || is_floating(compute));
}

bool has_dtype(Span<const Input> inputs, DType dtype) {
  for (const Input& input : inputs) {
    if (input.tensor != nullptr && input.tensor->dtype() == dtype) return true;
  }
  return false;
}

Error check_dtypes(KernelContext& context, const Output& output, Span<const Input> inputs) {
  const DType result = output.tensor->dtype();
  if (!is_real(result) || (result == DType::kU64) != (output.compute == DType::kU64)) return unsupported_dtype(context);
  const bool has_u64 = has_dtype(inputs, DType::kU64);
  for (const Input& input : inputs) {
    if (input.tensor == nullptr) continue;
    const DType dtype = input.tensor->dtype();
    if (!is_computed(dtype, input.compute)) return unsupported_dtype(context);
    if (has_u64 && dtype != DType::kU64 && is_integer(dtype)) return unsupported_dtype(context);
  }
  if (can_cast(output.common, output.tensor->dtype())) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "the result's dtype cannot be cast to the output's");
}

}  // namespace

Error run_elementwise(KernelContext& context, const Output& output, Span<const Input> inputs, Loop loop,
                      const Scalars& scalars) {
  if (loop == nullptr) return unsupported_dtype(context);
  if (const Error error = check_dtypes(context, output, inputs); error != Error::kOk) return error;
  const Tensor* tensors[kMaxInputs];
  for (size_t k = 0; k < inputs.size(); ++k) tensors[k] = inputs[k].tensor;
  const Error error = resize_broadcast(context, *output.tensor, Span<const Tensor* const>(tensors, inputs.size()));
  if (error != Error::kOk) return error;
  if (output.tensor->numel() == 0) return Error::kOk;
  if (all_direct(output, inputs)) {
    run_direct(context, output, inputs, loop, scalars);
    return Error::kOk;
  }
  const Runner runner(output, inputs, loop, scalars);
  context.parallel_for(output.tensor->numel(), kGrain, [&](int64_t begin, int64_t end) { runner.run(begin, end); });
  return Error::kOk;
}

bool run_dense_f32(KernelContext& context, Tensor& out, Span<const Tensor* const> inputs, Loop loop,
                   const Scalars& scalars) {
  if (loop == nullptr || out.dtype() != DType::kF32) return false;
  for (const Tensor* input : inputs) {
    if (input->dtype() != DType::kF32 || !same_layout(*input, out)) return false;
  }
  context.parallel_for(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    Chunk chunk = {out.data<float>() + begin, {}, {}, end - begin, &scalars};
    for (size_t k = 0; k < inputs.size(); ++k) chunk.in[k] = inputs[k]->data<float>() + begin;
    loop(chunk);
  });
  return true;
}

}  // namespace berth::portable
