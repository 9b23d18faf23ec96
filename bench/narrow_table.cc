// Products with weights of 8 and 4 bits beside the speed at which this machine reads memory, and beside berth::linear.
//
//     build/release/bench/narrow_table [threads] [seconds a row] [bf16|int8]
//
// Weights are packed as the compiler packs them, for --precision bf16 or --activations int8 if it says so. Scales are
// numbers of f16, and stored so. GB/s count the bytes of the weight and its scales. What they are compared with is the
// best of several loops that read the weight and do nothing else, in turns with the product; each figure is the best of
// all turns.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/thread_pool.h"
#include "base/half.h"
#include "base/huge_page_buffer.h"
#include "bench/reading_loops.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/packing.h"
#include "kernels/portable/kernel_testing.h"

namespace berth {
namespace {

using testing::Arg;
using testing::Array;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int threads_of(const ThreadPool* pool) { return pool == nullptr ? 1 : pool->size(); }

// A kernel of the cpu target on prepared constants.
class Kernel {
 public:
  /// `memory` is what constants lie in beside the arrays of `args`.
  Kernel(const char* name, std::vector<Arg> args, std::vector<size_t> constants, ThreadPool* pool,
         std::vector<HugePageBuffer> memory = {})
      : args_(std::move(args)), memory_(std::move(memory)), pool_(pool) {
    for (const KernelEntry& entry : cpu::kernels()) {
      if (std::string(entry.name) == name) entry_ = entry;
    }
    for (Arg& arg : args_) values_.push_back(arg.value());
    const std::unique_ptr<bool[]> constant(new bool[args_.size()]());
    for (const size_t i : constants) constant[i] = true;
    PrepareContext context(pool, nullptr, {constant.get(), args_.size()});
    const size_t temp = entry_.temp_bytes(span(), threads_of(pool)) + 64;
    if (temp_.size() < temp) temp_.resize(temp);
    check(entry_.prepare(context, span(), &state_));
  }
  ~Kernel() {
    if (state_ != nullptr) entry_.release(state_);
  }
  /// REQUIRES: it was made with `memory`, whose largest buffer this is.
  const HugePageBuffer& weight() const {
    return *std::max_element(memory_.begin(), memory_.end(),
                             [](const HugePageBuffer& a, const HugePageBuffer& b) { return a.size() < b.size(); });
  }
  void run() {
    const size_t skip = (64 - reinterpret_cast<uintptr_t>(temp_.data()) % 64) % 64;
    KernelContext context({temp_.data() + skip, temp_.size() - skip}, pool_);
    context.set_state(state_);
    check(entry_.call(context, span()));
  }

 private:
  Span<EValue* const> span() const { return {values_.data(), values_.size()}; }
  static void check(Error error) {
    if (error == Error::kOk) return;
    std::fprintf(stderr, "a kernel failed\n");
    std::exit(1);
  }

  KernelEntry entry_;
  std::vector<Arg> args_;
  std::vector<HugePageBuffer> memory_;
  std::vector<EValue*> values_;
  ThreadPool* pool_;
  void* state_ = nullptr;
  static std::vector<uint8_t> temp_;  // of all, as in a program
};

std::vector<uint8_t> Kernel::temp_;

Array floats(std::vector<int32_t> sizes) {
  const Array array = testing::f32(std::move(sizes));
  float* x = array.tensor().data<float>();
  for (int64_t i = 0; i < array.tensor().numel(); ++i) x[i] = static_cast<float>(i * 7919 % 1000) * 0.002f - 1;
  return array;
}

// Aligned, and in large pages, as constants of a program are.
Array flat(DType dtype, const std::vector<uint8_t>& bytes, std::vector<HugePageBuffer>* memory) {
  const Array array(dtype, {static_cast<int32_t>(bytes.size() / element_size(dtype))});
  memory->emplace_back();
  static HugePagePool pool;
  if (!memory->back().allocate(bytes.size() + 1, pool)) std::abort();
  array.tensor().set_data(memory->back().data());
  if (!bytes.empty()) std::memcpy(array.tensor().raw(), bytes.data(), bytes.size());
  return array;
}

int64_t digits = 3;

enum class Zeros { kNone, kWhole, kReal };

struct Product {
  int32_t rows, depth, columns, bits, block;
  Zeros zeros = Zeros::kNone;

  int64_t blocks() const { return (depth + block - 1) / block; }
  int64_t bytes() const { return int64_t{depth} * columns * bits / 8 + blocks() * columns * number_bytes(); }
  int64_t number_bytes() const { return zeros == Zeros::kReal ? 6 : zeros == Zeros::kWhole ? 3 : 2; }
  std::unique_ptr<Kernel> narrow(ThreadPool* pool) const {
    return narrow(pool, floats({rows, depth}), testing::f32({rows, columns}));
  }
  std::unique_ptr<Kernel> narrow(ThreadPool* pool, const Array& input, const Array& out) const {
    const Array weight(bits == 8 ? DType::kI8 : DType::kU8, {bits == 8 ? depth : depth / 2, columns});
    for (int64_t i = 0; i < weight.tensor().numel(); ++i) {
      weight.tensor().data<uint8_t>()[i] = static_cast<uint8_t>(i * 37 + i / 97);
    }
    const Array scales = floats({static_cast<int32_t>(blocks()), columns});
    for (int64_t i = 0; i < scales.tensor().numel(); ++i) {
      scales.tensor().data<float>()[i] = Half(scales.tensor().data<float>()[i]);
    }
    const Array points = zeros == Zeros::kReal ? floats(scales.sizes()) : Array(DType::kI8, scales.sizes(), {});
    if (zeros == Zeros::kWhole) std::memset(points.tensor().raw(), 3, points.tensor().nbytes());
    cpu::NarrowToPack dense;
    dense.depth = depth;
    dense.columns = columns;
    dense.bits = bits;
    dense.block = block;
    dense.digits = digits;
    dense.weight = weight.tensor().data<uint8_t>();
    dense.scales = scales.tensor().data<float>();
    dense.scale_rows = dense.zero_rows = blocks();
    dense.scale_columns = dense.zero_columns = columns;
    if (zeros == Zeros::kWhole) dense.zeros = points.tensor().data<int8_t>();
    if (zeros == Zeros::kReal) dense.real_zeros = points.tensor().data<float>();
    cpu::PackedNarrow packed;
    if (!cpu::pack_narrow(dense, &packed)) {
      std::fprintf(stderr, "a weight cannot be packed\n");
      std::exit(1);
    }
    std::vector<HugePageBuffer> memory;
    const Arg packed_points =
        zeros == Zeros::kNone ? Arg(nullptr) : Arg(flat(points.tensor().dtype(), packed.zeros, &memory));
    return std::make_unique<Kernel>(
        "berth::narrow_linear.out",
        std::vector<Arg>{input, flat(weight.tensor().dtype(), packed.weight, &memory),
                         flat(packed.scale_type, packed.scales, &memory), packed_points, nullptr, nullptr, bits, block,
                         "none", 0.0, 0.0, packed.text.c_str(), out},
        std::vector<size_t>{1, 2, 3}, pool, std::move(memory));
  }
  std::unique_ptr<Kernel> wide(ThreadPool* pool) const {
    return std::make_unique<Kernel>("berth::linear.out",
                                    std::vector<Arg>{floats({rows, depth}), floats({depth, columns}), nullptr, nullptr,
                                                     "none", 0.0, 0.0, "", testing::f32({rows, columns})},
                                    std::vector<size_t>{1}, pool);
  }
};

template <typename F>
void take(double* best, F&& f) {
  const double start = now();
  f();
  *best = std::min(*best, now() - start);
}

uint64_t sink = 0;

void beside_reading(const Product& p, ThreadPool* pool, double seconds) {
  const auto kernel = p.narrow(pool);
  // The weight itself: a second buffer of its size would push it out of the caches.
  bench::ReadBuffer buffer(kernel->weight(), pool, threads_of(pool));
  double product = 1e9;
  double reading = 1e9;
  const double end = now() + seconds;
  while (now() < end) {
    for (int i = 0; i < 3; ++i) take(&product, [&] { kernel->run(); });
    for (const bench::Reading& loop : bench::kReadings) take(&reading, [&] { buffer.read(loop); });
  }
  sink ^= buffer.sink();
  const double speed = static_cast<double>(p.bytes()) / product * 1e-9;
  const double reading_speed = static_cast<double>(buffer.bytes()) / reading * 1e-9;
  constexpr const char* kZeros[] = {"", ", whole zero points", ", real zero points"};
  std::printf("| %d x %d x %d | %d | %d%s | %.1f | %.1f | %.2f |\n", p.rows, p.depth, p.columns, p.bits, p.block,
              kZeros[static_cast<int>(p.zeros)], speed, reading_speed, speed / reading_speed);
}

// Products one after the other whose weights come from memory, as those of a language model's token do.
void many_beside_reading(const Product& p, int count, ThreadPool* pool, double seconds) {
  std::vector<std::unique_ptr<Kernel>> kernels;
  const Array input = floats({p.rows, p.depth});
  const Array out = testing::f32({p.rows, p.columns});
  for (int i = 0; i < count; ++i) kernels.push_back(p.narrow(pool, input, out));
  HugePageBuffer all;
  if (!all.allocate(kernels[0]->weight().size() * count)) std::abort();
  std::memset(all.data(), 1, all.size());
  bench::ReadBuffer buffer(all, pool, threads_of(pool));
  double product = 1e9;
  double reading = 1e9;
  const double end = now() + seconds;
  while (now() < end) {
    take(&product, [&] {
      for (const auto& kernel : kernels) kernel->run();
    });
    for (const bench::Reading& loop : bench::kReadings) take(&reading, [&] { buffer.read(loop); });
  }
  sink ^= buffer.sink();
  const double speed = static_cast<double>(p.bytes() * count) / product * 1e-9;
  const double reading_speed = static_cast<double>(buffer.bytes()) / reading * 1e-9;
  std::printf("| %d of %d x %d x %d | %d | %d | %.1f | %.1f | %.2f |\n", count, p.rows, p.depth, p.columns, p.bits,
              p.block, speed, reading_speed, speed / reading_speed);
}

void beside_linear(const Product& p, ThreadPool* pool, double seconds) {
  const auto narrow = p.narrow(pool);
  const auto wide = p.wide(pool);
  double a = 1e9;
  double b = 1e9;
  const double end = now() + seconds;
  while (now() < end) {
    take(&a, [&] { narrow->run(); });
    take(&b, [&] { wide->run(); });
  }
  std::printf("| %d x %d x %d | %d | %d | %.3f | %.3f | %.2f |\n", p.rows, p.depth, p.columns, p.bits, p.block, a * 1e3,
              b * 1e3, a / b);
}

void run(int threads, double seconds) {
  const std::unique_ptr<ThreadPool> pool = make_cpu_thread_pool(threads);
  std::printf(
      "| product | bits | block | GB/s | reading, GB/s | of it |\n| --- | ---: | ---: | ---: | ---: | ---: |\n");
  // In memory, whatever the caches.
  beside_reading({1, 8192, 65536, 8, 8192}, pool.get(), 4 * seconds);
  for (const int32_t block : {32, 128}) beside_reading({1, 8192, 65536, 4, block}, pool.get(), 4 * seconds);
  for (const auto& [depth, columns] : {std::pair{1024, 1024}, std::pair{1024, 3072}, std::pair{2048, 8192}}) {
    const int count = 300 * 1024 * 1024 / (depth * columns);
    many_beside_reading({1, depth, columns, 8, depth}, count, pool.get(), 2 * seconds);
    many_beside_reading({1, depth, columns, 4, 32}, 2 * count, pool.get(), 2 * seconds);
  }
  for (const auto& [depth, columns] :
       {std::pair{768, 768}, std::pair{4096, 4096}, std::pair{2048, 8192}, std::pair{2048, 32000}}) {
    beside_reading({1, depth, columns, 8, depth}, pool.get(), seconds);
    for (const int32_t block : {32, 64, 128}) beside_reading({1, depth, columns, 4, block}, pool.get(), seconds);
    beside_reading({1, depth, columns, 4, 32, Zeros::kWhole}, pool.get(), seconds);
    beside_reading({1, depth, columns, 4, 32, Zeros::kReal}, pool.get(), seconds);
  }
  for (const int32_t rows : {2, 4}) {
    beside_reading({rows, 2048, 32000, 8, 2048}, pool.get(), seconds);
    beside_reading({rows, 2048, 32000, 4, 32}, pool.get(), seconds);
  }
  std::printf(
      "\n| product | bits | block | ms | berth::linear, ms | of it |\n| --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (const Product& p :
       {Product{4, 1024, 4096, 4, 32}, Product{8, 1024, 4096, 4, 32}, Product{16, 1024, 4096, 8, 1024},
        Product{197, 384, 384, 8, 384}, Product{197, 384, 1536, 4, 32}, Product{512, 1024, 1024, 4, 32},
        Product{512, 1024, 1024, 4, 128, Zeros::kReal}, Product{512, 1024, 1024, 8, 1024}}) {
    beside_linear(p, pool.get(), seconds);
  }
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  if (argc > 3 && std::strcmp(argv[3], "bf16") == 0) berth::digits = 2;
  if (argc > 3 && std::strcmp(argv[3], "int8") == 0) berth::digits = 1;
  berth::run(argc > 1 ? std::atoi(argv[1]) : 2, argc > 2 ? std::atof(argv[2]) : 2);
  return berth::sink == 42 ? 1 : 0;
}
