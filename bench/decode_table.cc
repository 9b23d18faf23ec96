// Tokens a second of a language model, beside what the machine reads from memory in the same process.
//
//     build/release/bench/decode_table MODEL.pte [THREADS [TOKENS [MEGABYTES]]]
//     build/release/bench/decode_table --serve MODEL.pte THREADS MEGABYTES
//
// MEGABYTES (10^6) of weights are read for a token; by default the size of the file, which counts a table of embeddings
// of its own in full, of which a token reads one row.
//
// The program has a method "decode" or "forward" of a token [1, 1] and its position [1], i64, with its cache as state;
// and it may have "prefill" of n tokens [1, n] and their positions [n]. In turns with the tokens, several loops read a
// buffer of the weights' size (reading_loops.h). The best of each counts.
//
// --serve is for bench/llama_race.py: a line of JSON for each line that it reads, `decode POSITION COUNT`,
// `prefill COUNT` or `read`: seconds, and processor seconds of all threads.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/thread_pool.h"
#include "bench/reading_loops.h"
#include "kernels/portable/portable.h"
#include "runtime/host/file_loader.h"
#include "runtime/host/host_method.h"

namespace berth {
namespace {

/// Of the wall, and of the processor over all threads.
struct Seconds {
  double wall = 1e30, cpu = 1e30;
};

Seconds now() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(wall).count(),
          static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)};
}

Seconds since(const Seconds& start) {
  const Seconds end = now();
  return {end.wall - start.wall, end.cpu - start.cpu};
}

[[noreturn]] void fail(const char* what, const char* place, const char* message) {
  std::fprintf(stderr, "%s: %s: %s\n", what, place, message);
  std::exit(1);
}

class LanguageModel {
 public:
  LanguageModel(const char* file, int threads, bool resident) : pool_(make_cpu_thread_pool(threads)) {
    const Seconds begin = now();
    auto loader = MappedFileLoader::open(file);
    if (!loader.ok()) fail(file, "the file", "cannot be opened");
    loader_.emplace(std::move(*loader));
    Backend* const backends[] = {&cpu_};
    LoadOptions load;
    load.backends = backends;
    load.report = &report_;
    auto program = Program::load(*loader_, portable::kernels(), load);
    if (!program.ok()) fail(file, report_.place, report_.message);
    program_.emplace(std::move(*program));
    auto arenas = HostArenas::make(*program_, &report_);
    if (!arenas.ok()) fail(file, report_.place, report_.message);
    arenas_.emplace(std::move(*arenas));
    decode_.emplace(method(program_->method_meta("decode").ok() ? "decode" : "forward", resident));
    if (program_->method_meta("prefill").ok()) prefill_.emplace(method("prefill", resident));
    load_ = since(begin);
  }

  Seconds load() const { return load_; }
  size_t file_bytes() const { return loader_->size(); }
  ThreadPool* pool() { return pool_.get(); }

  Seconds decode(int64_t position) { return run(*decode_, position, 1); }
  Seconds prefill(int64_t count) {
    if (!prefill_) fail("prefill", "the program", "has no such method");
    return run(*prefill_, 0, count);
  }

 private:
  HostMethod method(const char* name, bool resident) {
    HostOptions options;
    options.pool = pool_.get();
    options.arenas = &*arenas_;
    options.temp = &temp_;
    options.report = &report_;
    options.resident = resident;
    auto made = HostMethod::load(*program_, name, options);
    if (!made.ok()) fail(name, report_.place, report_.message);
    return std::move(*made);
  }

  static Seconds run(HostMethod& method, int64_t position, int64_t count) {
    std::vector<int64_t> tokens(count);
    std::vector<int64_t> positions(count);
    for (int64_t i = 0; i < count; ++i) {
      positions[i] = position + i;
      tokens[i] = positions[i] * 37 % 1000;
    }
    const auto length = static_cast<int32_t>(count);
    const int32_t token_sizes[] = {1, length};
    const int32_t position_sizes[] = {length};
    const Seconds start = now();
    const bool done = method.method().set_input(0, tokens.data(), token_sizes, DType::kI64) == Error::kOk &&
                      method.method().set_input(1, positions.data(), position_sizes, DType::kI64) == Error::kOk &&
                      method.execute() == Error::kOk;
    const Report& why = method.method().last_report();
    if (!done) fail("a run", why.place, why.message);
    return since(start);
  }

  std::unique_ptr<ThreadPool> pool_;
  CpuBackend cpu_;
  Report report_;
  SharedTemp temp_;
  std::optional<MappedFileLoader> loader_;
  std::optional<Program> program_;
  std::optional<HostArenas> arenas_;
  std::optional<HostMethod> decode_, prefill_;
  Seconds load_;
};

double read_once(bench::ReadBuffer& buffer, const bench::Reading& loop) {
  const Seconds start = now();
  buffer.read(loop);
  return since(start).wall;
}

void print_table(LanguageModel& model, int threads, int tokens, double bytes) {
  bench::ReadBuffer buffer(static_cast<int64_t>(bytes), model.pool(), threads);
  double reading[std::size(bench::kReadings)];
  std::fill(std::begin(reading), std::end(reading), 1e30);
  double best = 1e30;
  for (int i = 0; i < tokens; ++i) {
    best = std::min(best, model.decode(i).wall);
    const size_t loop = i % std::size(reading);
    reading[loop] = std::min(reading[loop], read_once(buffer, bench::kReadings[loop]));
  }
  const double gigabytes = bytes / 1e9;
  double most = 0;
  for (size_t i = 0; i < std::size(reading); ++i) {
    std::printf("%-24s %7.1f GB/s\n", bench::kReadings[i].name, gigabytes / reading[i]);
    most = std::max(most, gigabytes / reading[i]);
  }
  std::printf("%-24s %7.1f GB/s, %.2f of the best loop; %.2f tokens/s, loaded in %.0f ms\n", "decoding",
              gigabytes / best, gigabytes / best / most, 1 / best, 1000 * model.load().wall);
}

void print(const std::vector<Seconds>& all) {
  std::printf("{\"wall\": [");
  for (size_t i = 0; i < all.size(); ++i) std::printf("%s%.6f", i == 0 ? "" : ", ", all[i].wall);
  std::printf("], \"cpu\": [");
  for (size_t i = 0; i < all.size(); ++i) std::printf("%s%.6f", i == 0 ? "" : ", ", all[i].cpu);
  std::printf("]}\n");
  std::fflush(stdout);
}

void serve(LanguageModel& model, int threads, double bytes) {
  std::optional<bench::ReadBuffer> buffer;
  print({model.load()});
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what;
    int64_t first = 0;
    int64_t count = 0;
    words >> what >> first >> count;
    std::vector<Seconds> all;
    if (what == "decode") {
      for (int64_t i = 0; i < count; ++i) all.push_back(model.decode(first + i));
    } else if (what == "prefill") {
      all.push_back(model.prefill(first));
    } else if (what == "read") {
      if (!buffer) buffer.emplace(static_cast<int64_t>(bytes), model.pool(), threads);
      for (const bench::Reading& loop : bench::kReadings) {
        const Seconds start = now();
        buffer->read(loop);
        all.push_back(since(start));
      }
    } else {
      fail(what.c_str(), "the line", "is neither `decode`, `prefill` nor `read`");
    }
    print(all);
  }
}

int usage() {
  std::fprintf(stderr,
               "usage: decode_table MODEL.pte [THREADS [TOKENS [MEGABYTES]]]\n"
               "       decode_table --serve MODEL.pte THREADS MEGABYTES\n");
  return 2;
}

int run(int argc, char** argv) {
  if (argc < 2) return usage();
  if (std::strcmp(argv[1], "--serve") == 0) {
    if (argc != 5) return usage();
    const int threads = std::max(1, std::atoi(argv[3]));
    LanguageModel model(argv[2], threads, false);
    serve(model, threads, 1e6 * std::atof(argv[4]));
    return 0;
  }
  const int threads = argc > 2 ? std::max(1, std::atoi(argv[2])) : 2;
  const int tokens = argc > 3 ? std::atoi(argv[3]) : 32;
  LanguageModel model(argv[1], threads, true);
  const double megabytes = argc > 4 ? std::atof(argv[4]) : 0;
  print_table(model, threads, tokens, megabytes > 0 ? 1e6 * megabytes : static_cast<double>(model.file_bytes()));
  return 0;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) { return berth::run(argc, argv); }
