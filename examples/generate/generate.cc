// Makes text token by token with a language model that keeps its cache of keys and values as state.
//
//     generate MODEL.pte COUNT TEMPERATURE TOKEN…      TEMPERATURE 0 takes the likeliest token
//
// The program has a method "decode" (or "forward") of one token, [1, 1], and its position, [1], both i64, that gives
// logits of f32 whose last dimension is the vocabulary. If it has "prefill" of several tokens as well, over the same
// state, that reads the prompt. The file is mapped, and nothing is taken from the heap once the methods are loaded.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
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

// What MODEL.pte has: "prefill" only if it is there.
struct Methods {
  std::optional<HostMethod> decode;
  std::optional<HostMethod> prefill;
};

// Prints why when a method cannot be loaded.
bool load(const berth::Program& program, const berth::HostOptions& options, Methods* methods) {
  const auto load_one = [&](const char* name, std::optional<HostMethod>* method) {
    auto loaded = HostMethod::load(program, name, options);
    if (!loaded.ok()) return fail(name, *options.report), false;
    method->emplace(std::move(*loaded));
    return true;
  };
  const bool has_decode = program.method_meta("decode").ok();
  if (!load_one(has_decode ? "decode" : "forward", &methods->decode)) return false;
  return !program.method_meta("prefill").ok() || load_one("prefill", &methods->prefill);
}

// The method that was given the last token of the prompt; null, with what is wrong printed, when it cannot be read.
HostMethod* read_prompt(Methods& methods, const std::vector<int64_t>& tokens) {
  std::vector<int64_t> positions(tokens.size());
  std::iota(positions.begin(), positions.end(), 0);
  HostMethod& method = methods.prefill ? *methods.prefill : *methods.decode;
  const size_t at_a_time = methods.prefill ? tokens.size() : 1;
  for (size_t i = 0; i < tokens.size(); i += at_a_time) {
    if (run(method, &tokens[i], &positions[i], static_cast<int32_t>(at_a_time))) continue;
    fail("prompt", method.method().last_report());
    return nullptr;
  }
  return &method;
}

int generate(Methods& methods, const std::vector<int64_t>& prompt, int count, double temperature) {
  HostMethod* last = read_prompt(methods, prompt);
  if (last == nullptr) return 1;
  uint64_t random = 42;
  auto position = static_cast<int64_t>(prompt.size());
  for (int made = 1; made <= count; ++made, ++position) {
    const int64_t token = choose(*last, temperature, &random);
    std::printf("%" PRId64 "%s", token, made < count ? " " : "\n");
    if (made == count) break;
    last = &*methods.decode;
    if (!run(*last, &token, &position, 1)) {
      std::printf("\n");
      return fail("decode", last->method().last_report());
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: generate MODEL.pte COUNT TEMPERATURE TOKEN...\n");
    return 2;
  }
  std::vector<int64_t> prompt;
  for (int i = 4; i < argc; ++i) prompt.push_back(std::atoll(argv[i]));

  berth::Report report;
  auto loader = berth::MappedFileLoader::open(argv[1]);
  if (!loader.ok()) {
    std::fprintf(stderr, "%s: cannot be opened\n", argv[1]);
    return 1;
  }
  berth::CpuBackend cpu;
  berth::Backend* const backends[] = {&cpu};
  berth::LoadOptions load_options;
  load_options.backends = backends;
  load_options.report = &report;
  auto program = berth::Program::load(*loader, berth::portable::kernels(), load_options);
  if (!program.ok()) return fail(argv[1], report);
  auto arenas = berth::HostArenas::make(*program, &report);
  if (!arenas.ok()) return fail(argv[1], report);
  const auto pool = berth::make_cpu_thread_pool(static_cast<int>(std::thread::hardware_concurrency()));
  berth::HostOptions options;
  options.pool = pool.get();
  options.arenas = &*arenas;  // methods find each other's cache in them
  options.report = &report;
  Methods methods;
  if (!load(*program, options, &methods)) return 1;
  return generate(methods, prompt, std::atoi(argv[2]), std::atof(argv[3]));
}
