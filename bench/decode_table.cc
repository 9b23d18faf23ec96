// Tokens a second of a language model, beside what the machine reads from memory in the same process.
//
//     build/release/bench/decode_table MODEL.pte [THREADS [TOKENS [MEGABYTES]]]
//
// MEGABYTES (10^6) of weights are read for a token; by default the size of the file, which counts a table of embeddings
// in full, of which a token reads one row.
//
// The program has a method "decode" or "forward" of a token [1, 1] and its position [1], i64, with its cache as state. In
// turns with the tokens, several loops read a buffer of the weights' size: what the
// compiler makes of a plain sum, two and four streams at once, and reading ahead. The best of each counts.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/thread_pool.h"
#include "kernels/portable/portable.h"
#include "runtime/host/file_loader.h"
#include "runtime/host/host_method.h"

namespace {

using namespace berth;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr int64_t kLine = 16;  // floats

// Sums of `streams` parts of the buffer, read side by side, `ahead` bytes before they are needed (0: as they are).
template <int kStreams, int kAhead>
float read_part(const float* from, int64_t count) {
  float sums[kStreams][4 * kLine] = {};
  const int64_t part = count / kStreams / (4 * kLine) * (4 * kLine);
  for (int64_t i = 0; i < part; i += 4 * kLine) {
    for (int s = 0; s < kStreams; ++s) {
      const float* at = from + s * part + i;
      if (kAhead > 0) {
        for (int line = 0; line < 4; ++line)
          __builtin_prefetch(reinterpret_cast<const char*>(at + line * kLine) + kAhead);
      }
      for (int j = 0; j < 4 * kLine; ++j) sums[s][j] += at[j];
    }
  }
  float all = 0;
  for (const auto& sum : sums) {
    for (const float x : sum) all += x;
  }
  return all;
}

struct Loop {
  const char* name;
  float (*read)(const float*, int64_t);
  double seconds = 1e30;
};

volatile float result_of_reading;

void read_buffer(ThreadPool* pool, int threads, const std::vector<float>& buffer, Loop* loop) {
  const auto start = Clock::now();
  const int64_t part = static_cast<int64_t>(buffer.size()) / threads;
  const auto one = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) result_of_reading = loop->read(buffer.data() + i * part, part);
  };
  KernelContext context({}, pool);
  context.parallel_for(threads, 1, one);
  loop->seconds = std::min(loop->seconds, seconds_since(start));
}

bool step(HostMethod& method, int64_t token, int64_t position, double* seconds) {
  const int32_t token_sizes[] = {1, 1};
  const int32_t position_sizes[] = {1};
  const auto start = Clock::now();
  const bool done = method.method().set_input(0, &token, token_sizes, DType::kI64) == Error::kOk &&
                    method.method().set_input(1, &position, position_sizes, DType::kI64) == Error::kOk &&
                    method.execute() == Error::kOk;
  *seconds = std::min(*seconds, seconds_since(start));
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: decode_table MODEL.pte [THREADS [TOKENS [MEGABYTES]]]\n");
    return 2;
  }
  const int threads = argc > 2 ? std::max(1, std::atoi(argv[2])) : 2;
  const int tokens = argc > 3 ? std::atoi(argv[3]) : 32;
  const double megabytes = argc > 4 ? std::atof(argv[4]) : 0;
  Report report;
  auto loader = MappedFileLoader::open(argv[1]);
  if (!loader.ok()) return std::fprintf(stderr, "%s: cannot be opened\n", argv[1]), 1;
  CpuBackend cpu;
  Backend* const backends[] = {&cpu};
  LoadOptions load;
  load.backends = backends;
  load.report = &report;
  const auto begin = Clock::now();
  auto program = Program::load(*loader, portable::kernels(), load);
  if (!program.ok()) return std::fprintf(stderr, "%s: %s\n", report.place, report.message), 1;
  const auto pool = make_cpu_thread_pool(threads);
  HostOptions options;
  options.pool = pool.get();
  options.report = &report;
  options.resident = true;
  auto method = HostMethod::load(*program, program->method_meta("decode").ok() ? "decode" : "forward", options);
  if (!method.ok()) return std::fprintf(stderr, "%s: %s\n", report.place, report.message), 1;
  const double loaded = seconds_since(begin);

  Loop loops[] = {{"1 stream", read_part<1, 0>},
                  {"2 streams", read_part<2, 0>},
                  {"4 streams", read_part<4, 0>},
                  {"1 stream, 1 KiB ahead", read_part<1, 1024>},
                  {"1 stream, 4 KiB ahead", read_part<1, 4096>},
                  {"2 streams, 2 KiB ahead", read_part<2, 2048>}};
  const double bytes = megabytes > 0 ? 1e6 * megabytes : static_cast<double>(loader->size());
  std::vector<float> buffer(static_cast<size_t>(bytes) / sizeof(float), 1.0f);
  double best = 1e30;
  for (int i = 0; i < tokens; ++i) {
    if (!step(*method, i, i, &best)) {
      const auto& why = method->method().last_report();
      return std::fprintf(stderr, "%s: %s\n", why.place, why.message), 1;
    }
    read_buffer(pool.get(), threads, buffer, &loops[i % std::size(loops)]);
  }
  const double gigabytes = bytes / 1e9;
  double most = 0;
  for (const Loop& loop : loops) {
    std::printf("%-24s %7.1f GB/s\n", loop.name, gigabytes / loop.seconds);
    most = std::max(most, gigabytes / loop.seconds);
  }
  std::printf("%-24s %7.1f GB/s, %.2f of the best loop; %.2f tokens/s, loaded in %.0f ms\n", "decoding",
              gigabytes / best, gigabytes / best / most, 1 / best, 1000 * loaded);
  return 0;
}
