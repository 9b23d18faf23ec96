#include "kernels/cpu/quantized_batch.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/math.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::cpu {
namespace {

// Of one matrix: a thread's memory stays in its second-level cache, and that of all of them is not much.
constexpr size_t kMostSlotBytes = 512 * 1024;

// A matrix of a row-major batch.
class MatrixOf {
 public:
  MatrixOf(const Tensor& batch, int64_t index) {
    static constexpr uint8_t kOrder[2] = {0, 1};
    for (int d = 0; d < 2; ++d) sizes_[d] = batch.sizes()[1 + d];
    const int64_t bytes = batch.size(1) * batch.size(2) * static_cast<int64_t>(element_size(batch.dtype()));
    tensor_ = Tensor(batch.dtype(), 2, sizes_, kOrder, strides_, static_cast<uint8_t*>(batch.raw()) + index * bytes);
  }
  MatrixOf(const MatrixOf&) = delete;
  MatrixOf& operator=(const MatrixOf&) = delete;
  Tensor& tensor() { return tensor_; }

 private:
  int32_t sizes_[2];
  int64_t strides_[2];
  Tensor tensor_;
};

// The memory of one product: the packed matrix, and what run_quantized() takes.
struct Memory {
  uint8_t* packed = nullptr;
  Span<uint8_t> temp;

  static size_t packed_bytes(const QuantizedLayout& layout) { return align_up<int64_t>(layout.bytes(), 64); }
  static size_t bytes(const QuantizedLayout& layout, int64_t rows, int threads) {
    return packed_bytes(layout) + align_up<size_t>(most_quantized_temp_bytes(layout, rows, threads), 64);
  }
  // Of so many bytes at `data`, a multiple of 64.
  static Memory at(uint8_t* data, size_t bytes, const QuantizedLayout& layout) {
    const size_t packed = packed_bytes(layout);
    return {data, {data + packed, bytes - packed}};
  }
};

// How many threads take a matrix each; 1: all threads share each product.
int slots_of(const QuantizedLayout& layout, int64_t batch, int64_t rows, int threads) {
  const double work = quantized_work(layout, rows);
  if (work >= kQuantizedSerialWork || Memory::bytes(layout, rows, 1) > kMostSlotBytes) return 1;
  return portable::slots_for(threads, batch, work * static_cast<double>(batch), kQuantizedSerialWork);
}

class Products {
 public:
  Products(const arguments::quantized_linear_out& args, const QuantizedLayout& layout,
           const QuantizedFunctions& functions, const QuantizedQuotients& quotients,
           const portable::QuantizedProduct& whole)
      : args_(args), layout_(layout), functions_(functions), quotients_(quotients), whole_(whole) {}

  Error run(const Memory& memory, ThreadPool* pool, int64_t i) const {
    const Tensor& weight = args_.weight;
    MatrixOf input(args_.input, i), out(args_.out, i);
    std::optional<MatrixOf> residual;
    portable::QuantizedProduct product = whole_;
    product.out = &out.tensor();
    if (args_.residual != nullptr) product.residual = &residual.emplace(*args_.residual, i).tensor();
    pack_matrix(layout_, weight.data<uint8_t>() + i * weight.stride(0), weight.dtype() == DType::kI8,
                weight.strides().data() + 1, memory.packed);
    QuantizedJob job;
    job.layout = &layout_;
    job.functions = &functions_;
    job.packed = memory.packed;
    job.product = &product;
    job.input = &input.tensor();
    job.quotients = quotients_;
    KernelContext own(memory.temp, pool);
    return run_quantized(own, job);
  }

 private:
  const arguments::quantized_linear_out& args_;
  const QuantizedLayout& layout_;
  const QuantizedFunctions& functions_;
  const QuantizedQuotients& quotients_;
  const portable::QuantizedProduct& whole_;
};

}  // namespace

size_t quantized_batch_temp_bytes(const QuantizedLayout& layout, const arguments::quantized_linear_out& args,
                                  int threads) {
  const int64_t batch = args.weight.size(0), rows = args.input.rank() == 3 ? args.input.size(1) : 0;
  const size_t shared = Memory::bytes(layout, rows, threads);
  const int slots = slots_of(layout, batch, rows, threads);
  return std::max(shared, slots * Memory::bytes(layout, rows, 1)) + portable::kTempPadding;
}

Error run_quantized_batch(KernelContext& context, const arguments::quantized_linear_out& args,
                          const QuantizedLayout& layout, const QuantizedFunctions& functions,
                          const QuantizedQuotients& quotients) {
  portable::QuantizedProduct whole;
  BERTH_RETURN_IF_ERROR(portable::read_quantized_linear(context, args, args.weight, &whole));
  BERTH_RETURN_IF_ERROR(portable::check_memory(context, args.weight));
  if (args.out.numel() == 0) return Error::kOk;
  const Products products(args, layout, functions, quotients, whole);
  const int64_t batch = args.weight.size(0), rows = args.input.size(1);
  // Where the largest sizes have one matrix at a time, the memory may be too little for all threads at smaller ones.
  const size_t own_bytes = Memory::bytes(layout, rows, 1);
  const size_t used = context.temp_used() + portable::kTempPadding, all = context.temp().size();
  const size_t room = all < used ? 0 : (all - used) / own_bytes;
  const int wanted = slots_of(layout, batch, rows, context.threads());
  const int slots = room < static_cast<size_t>(wanted) ? static_cast<int>(room) : wanted;
  if (slots <= 1) {
    const size_t bytes = Memory::bytes(layout, rows, context.threads());
    auto* const data = static_cast<uint8_t*>(context.allocate_temp(bytes));
    if (data == nullptr) return Error::kMemoryAllocationFailed;
    const Memory memory = Memory::at(data, bytes, layout);
    for (int64_t i = 0; i < batch; ++i) BERTH_RETURN_IF_ERROR(products.run(memory, context.pool(), i));
    return Error::kOk;
  }
  auto* const data = static_cast<uint8_t*>(context.allocate_temp(slots * own_bytes));
  if (data == nullptr) return Error::kMemoryAllocationFailed;
  std::atomic<Error> result{Error::kOk};
  portable::for_each_item(
      context, slots, batch,
      [&](const Memory& memory, int64_t i) {
        const Error error = products.run(memory, nullptr, i);
        if (error != Error::kOk) result = error;
      },
      [&](int64_t slot) { return Memory::at(data + slot * own_bytes, own_bytes, layout); });
  return result;
}

}  // namespace berth::cpu
