// Makes text token by token with a language model that keeps its cache of keys and values as state.
//
//     generate MODEL.pte COUNT TEMPERATURE TOKEN…      TEMPERATURE 0 takes the likeliest token
//
// The program has a method "decode" (or "forward") of one token, [1, 1], and its position, [1], both i64, that gives
// logits of f32 whose last dimension is the vocabulary. If it has "prefill" of several tokens as well, over the same state,
// that reads the prompt. The file is mapped, and nothing is taken from the heap once the methods are loaded.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/thread_pool.h"
#include "kernels/portable/portable.h"
#include "runtime/host/file_loader.h"
#include "runtime/host/host_method.h"

namespace {

using berth::DType;
using berth::HostMethod;

int fail(const char* what, const berth::Report& report) {
  std::fprintf(stderr, "%s: %s: %s\n", what, report.place, report.message);
  return 1;
}

// Runs `method` on `count` tokens, the first of them at `position`. What lies behind the end of the cache is refused by
// the model, and the cache stays as it was.
bool run(HostMethod& method, const int64_t* tokens, const int64_t* positions, int32_t count) {
  const int32_t token_sizes[] = {1, count};
  const int32_t position_sizes[] = {count};
  const bool set = method.method().set_input(0, tokens, token_sizes, DType::kI64) == berth::Error::kOk &&
                   method.method().set_input(1, positions, position_sizes, DType::kI64) == berth::Error::kOk;
  return set && method.execute() == berth::Error::kOk;
}

// The next of a row of pseudo-random numbers in [0, 1) (xorshift64*).
double next_random(uint64_t* state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return static_cast<double>((*state * 0x2545F4914F6CDD1Du) >> 11) * 0x1.0p-53;
}

// A token by the logits behind the last of those that `method` was given.
int64_t choose(HostMethod& method, double temperature, uint64_t* random) {
  const berth::EValue value = method.method().get_output(0);
  const berth::Tensor& logits = value.tensor();
  const int64_t size = logits.size(logits.rank() - 1);
  const float* last = logits.data<float>() + logits.numel() - size;
  const float* const likeliest = std::max_element(last, last + size);
  if (temperature <= 0) return likeliest - last;
  const auto weight = [&](int64_t i) { return std::exp(static_cast<double>(last[i] - *likeliest) / temperature); };
  double left = 0;
  for (int64_t i = 0; i < size; ++i) left += weight(i);
  left *= next_random(random);
  for (int64_t i = 0; i < size; ++i) {
    left -= weight(i);
    if (left < 0) return i;
  }
  return likeliest - last;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: generate MODEL.pte COUNT TEMPERATURE TOKEN...\n");
    return 2;
  }
  const int count = std::atoi(argv[2]);
  const double temperature = std::atof(argv[3]);
  std::vector<int64_t> tokens;
  for (int i = 4; i < argc; ++i) tokens.push_back(std::atoll(argv[i]));
  const auto prompt = static_cast<int32_t>(tokens.size());
  std::vector<int64_t> positions(tokens.size());
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int64_t>(i);

  berth::Report report;
  auto loader = berth::MappedFileLoader::open(argv[1]);
  if (!loader.ok()) {
    std::fprintf(stderr, "%s: cannot be opened\n", argv[1]);
    return 1;
  }
  berth::CpuBackend cpu;
  berth::Backend* const backends[] = {&cpu};
  berth::LoadOptions load;
  load.backends = backends;
  load.report = &report;
  auto program = berth::Program::load(*loader, berth::portable::kernels(), load);
  if (!program.ok()) return fail(argv[1], report);
  auto arenas = berth::HostArenas::make(*program, &report);
  if (!arenas.ok()) return fail(argv[1], report);
  const auto pool = berth::make_cpu_thread_pool(static_cast<int>(std::thread::hardware_concurrency()));
  berth::HostOptions options;
  options.pool = pool.get();
  options.arenas = &*arenas;  // methods find each other's cache in them
  options.report = &report;
  const bool one_method = !program->method_meta("decode").ok();
  auto decode = HostMethod::load(*program, one_method ? "forward" : "decode", options);
  if (!decode.ok()) return fail("decode", report);
  std::optional<HostMethod> prefill;
  if (program->method_meta("prefill").ok()) {
    auto loaded = HostMethod::load(*program, "prefill", options);
    if (!loaded.ok()) return fail("prefill", report);
    prefill.emplace(std::move(*loaded));
  }

  HostMethod* last = prefill ? &*prefill : &*decode;
  if (prefill) {
    if (!run(*prefill, tokens.data(), positions.data(), prompt)) return fail("prefill", prefill->method().last_report());
  } else {
    for (int32_t i = 0; i < prompt; ++i) {
      if (!run(*decode, &tokens[i], &positions[i], 1)) return fail("decode", decode->method().last_report());
    }
  }
  uint64_t random = 42;
  for (int64_t position = prompt, made = 0; made < count; ++position, ++made) {
    const int64_t token = choose(*last, temperature, &random);
    std::printf("%" PRId64 "%s", token, made + 1 < count ? " " : "\n");
    if (made + 1 == count) break;
    if (!run(*decode, &token, &position, 1)) {
      std::printf("\n");
      return fail("decode", decode->method().last_report());
    }
    last = &*decode;
  }
  return 0;
}
