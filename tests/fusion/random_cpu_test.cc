// Random graphs compiled for the cpu target, fused, channels-last, with packed weights and its own kernels, against the
// same graphs on portable kernels alone. BERTH_SEED=N begins there; BERTH_SECONDS=S goes on for that long, from a seed
// that is new each time where none is given.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>

#include "backends/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ir/random_networks_testing.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"
#include "runtime/host/thread_pool.h"

namespace berth {
namespace {

using Outputs = std::vector<std::vector<float>>;

// Numbers around 0 that depend on the place alone.
std::vector<float> input_of(size_t input, int64_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 37 + input * 11) % 101) / 40 - 1.25f;
  }
  return values;
}

Outputs outputs_of(const ir::Module& module, const CompileOptions& options, ThreadPool* pool,
                   CompileReport* report = nullptr) {
  const auto bytes = compile(module, options, report);
  EXPECT_TRUE(bytes.ok()) << bytes.error().text();
  if (!bytes.ok()) return {};
  CpuBackend backend;
  Backend* const backends[] = {&backend};
  LoadOptions load;
  load.backends = backends;
  const BufferLoader loader{Span<const uint8_t>(*bytes)};
  const Result<Program> program = Program::load(loader, portable::kernels(), load);
  EXPECT_TRUE(program.ok());
  if (!program.ok()) return {};
  HostOptions host;
  host.pool = pool;
  Result<HostMethod> loaded = HostMethod::load(*program, "forward", host);
  EXPECT_TRUE(loaded.ok());
  if (!loaded.ok()) return {};
  Method& method = loaded->method();
  const ir::Method& from = module.methods[0];
  std::vector<std::vector<float>> inputs;
  for (size_t i = 0; i < from.body.inputs.size(); ++i) {
    std::vector<int32_t> sizes;
    for (const ir::Dim size : from.tensor(from.body.inputs[i]).shape) sizes.push_back(static_cast<int32_t>(size.value));
    inputs.push_back(input_of(i, ir::max_numel(from.tensor(from.body.inputs[i]), module.symbols)));
    EXPECT_EQ(method.set_input(i, inputs.back().data(), sizes, DType::kF32), Error::kOk);
  }
  EXPECT_EQ(method.execute(), Error::kOk) << method.last_report().message;
  Outputs outputs;
  for (size_t i = 0; i < from.body.outputs.size(); ++i) {
    const Tensor& tensor = method.get_output(i).tensor();
    outputs.emplace_back(tensor.data<float>(), tensor.data<float>() + tensor.numel());
  }
  return outputs;
}

/// Within 1e-4 of each element and 1e-5 of the largest. Where all of a result is less than a few roundings of the
/// inputs, its terms have cancelled and nothing but their roundings is left, in either: then within one rounding.
void expect_close(const std::vector<float>& want, const std::vector<float>& got) {
  constexpr float kRounding = std::numeric_limits<float>::epsilon();  // of inputs, which are around 1
  ASSERT_EQ(want.size(), got.size());
  float largest = 0;
  for (const float x : want) largest = std::isfinite(x) ? std::fmax(largest, std::fabs(x)) : largest;
  const float absolute = largest < 8 * kRounding ? kRounding : 1e-5f * largest;
  for (size_t i = 0; i < want.size(); ++i) {
    const bool same = want[i] == got[i] || (std::isnan(want[i]) && std::isnan(got[i])) ||
                      std::fabs(want[i] - got[i]) <= 1e-4f * std::fabs(want[i]) + absolute;
    ASSERT_TRUE(same) << "element " << i << ": expected " << want[i] << ", found " << got[i];
  }
}

// Returns how many tables are read out of a packed weight.
int check(unsigned seed, ThreadPool* pool) {
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  const ir::Module module = ir::testing::RandomModule(seed, ir::testing::network(seed % 4 < 2)).make();
  if (module.methods[0].body.outputs.empty()) return 0;
  const Outputs want = outputs_of(module, {}, nullptr);
  CompileOptions options;
  options.target = "cpu";
  options.cpu = seed % 3 == 0 ? "generic" : "native";
  options.why = {"fusion"};
  CompileReport report;
  const Outputs got = outputs_of(module, options, seed % 2 == 0 ? pool : nullptr, &report);
  EXPECT_EQ(want.size(), got.size());
  for (size_t i = 0; i < want.size() && i < got.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    expect_close(want[i], got[i]);
  }
  if (testing::Test::HasFailure()) ADD_FAILURE() << ir::print(module);
  return static_cast<int>(std::count_if(report.why.begin(), report.why.end(), [](const std::string& line) {
    return line.find("fused into berth::weight_rows") != std::string::npos;
  }));
}

TEST(RandomCpu, MatchesPortableKernelsOnRandomGraphs) {
  const std::unique_ptr<HostThreadPool> pools[] = {
      std::make_unique<HostThreadPool>(2), std::make_unique<HostThreadPool>(3), std::make_unique<HostThreadPool>(5)};
  const char* seed = std::getenv("BERTH_SEED");
  const char* seconds = std::getenv("BERTH_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds == nullptr ? 0 : std::atoi(seconds));
  const unsigned first = seed != nullptr      ? static_cast<unsigned>(std::strtoul(seed, nullptr, 10))
                         : seconds == nullptr ? 0
                                              : std::random_device()();
  int shared = 0;
  for (unsigned i = 0; !testing::Test::HasFailure(); ++i) {
    if (i >= 60 && std::chrono::steady_clock::now() >= end) break;
    shared += check(first + i, pools[(first + i) / 2 % 3].get());
  }
  EXPECT_GT(shared, 0) << "no table was read out of a packed weight";
}

/// A block of MobileNet's kind, with an image of 1 MiB or more in it, that returns `outputs`.
class Block {
 public:
  explicit Block(unsigned seed) : random_(seed) {
    channels_ = 8 * whole(6, 12);
    height_ = whole(60, 80);
    width_ = 262144 / (channels_ * height_) + whole(1, 9);
    window_ = 3 + 2 * whole(0, 2);
    stride_ = whole(1, 2);
    padding_ = whole(0, 1) == 0 ? window_ / 2 : whole(0, 2);
    const int last = whole(9, 30), first = stride_ == 1 && 2 * padding_ + 1 == window_ ? last : whole(5, 30);
    const auto image = [&](int channels, bool before) {
      const auto size = [&](int in) { return before ? in : (in + 2 * padding_ - window_) / stride_ + 1; };
      return "f32[1," + std::to_string(channels) + "," + std::to_string(size(height_)) + "," +
             std::to_string(size(width_)) + "]";
    };
    const std::string wide = image(channels_, true), seen = image(channels_, false), out = image(last, false);
    add_constant("w1", {channels_, first, 1, 1});
    add_constant("b1", {channels_});
    add_constant("w2", {channels_, 1, window_, window_});
    add_constant("b2", {channels_});
    add_constant("w3", {last, channels_, 1, 1});
    const std::string one = "[1, 1]", none = "[0, 0]", pixels = one + ", " + none + ", " + one + ", false, " + none;
    const std::string two = "[" + std::to_string(stride_) + ", " + std::to_string(stride_) + "], [" +
                            std::to_string(padding_) + ", " + std::to_string(padding_) + "], [1, 1], false, [0, 0], ";
    const auto convolution = [&](const std::string& name, const std::string& type, const std::string& input,
                                 const std::string& weights, const std::string& rest) {
      body_ += "%" + name + ": " + type + " = aten::convolution(%" + input + ", " + weights + ", " + rest + ")\n";
    };
    convolution("a", wide, "x", "%w1, %b1", pixels + ", 1");
    body_ += "%b: " + wide + " = aten::" + (whole(0, 1) == 0 ? "relu" : "sigmoid") + "(%a)\n";
    convolution("c", seen, "b", "%w2, %b2", two + std::to_string(channels_));
    body_ += "%d: " + seen + " = aten::hardtanh(%c, 0.0, 6.0)\n";
    convolution("y", out, "d", "%w3, none", pixels + ", 1");
    if (image(first, true) == out) body_ += "%z: " + out + " = aten::add.Tensor(%y, %x, 1)\n";
    head_ = "method forward(%x: " + image(first, true) + ") {\n";
    result_ = image(first, true) == out ? "%z" : "%y";
  }

  ir::Module make(const std::string& more) const {
    const auto module = ir::parse(constants_ + head_ + values_ + body_ + "return " + result_ + more + "\n}\n");
    EXPECT_TRUE(module.ok()) << module.error().text();
    return *module;
  }

 private:
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  void add_constant(const std::string& name, const std::vector<int>& sizes) {
    std::string type, numbers;
    int count = 1;
    for (const int size : sizes) {
      type += (type.empty() ? "f32[" : ",") + std::to_string(size);
      count *= size;
    }
    for (int i = 0; i < count; ++i) numbers += (i == 0 ? "" : ", ") + std::to_string(whole(-500, 500) / 1000.0);
    constants_ += "const @" + name + ": " + type + "] = dense<[" + numbers + "]>\n";
    values_ += "%" + name + ": " + type + "] = const @" + name + "\n";
  }

  std::mt19937 random_;
  int channels_ = 0, height_ = 0, width_ = 0, window_ = 0, stride_ = 0, padding_ = 0;
  std::string constants_, head_, values_, body_, result_;
};

// What others read too stays whole, so that the block that returns its images is made of separate convolutions.
TEST(RandomCpu, BlocksByRowsGiveTheBitsOfTheirConvolutions) {
  const std::unique_ptr<HostThreadPool> pool = std::make_unique<HostThreadPool>(3);
  for (unsigned seed = 1; seed <= 8 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Block block(seed);
    CompileOptions options;
    options.target = "cpu";
    options.cpu = seed % 3 == 0 ? "generic" : "native";
    if (seed % 4 == 1) options.precision = "bf16";
    const Outputs want = outputs_of(block.make(", %b, %d"), options, nullptr);
    const Outputs got = outputs_of(block.make(""), options, seed % 2 == 0 ? pool.get() : nullptr);
    ASSERT_EQ(want.size(), 3u);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(want[0], got[0]);
  }
}

/// Convolutions and products in a row, with moves of elements between them.
class Chain {
 public:
  explicit Chain(unsigned seed) : random_(seed) {
    const bool images = seed % 3 != 0;
    const int layers = whole(3, 5);
    images ? start({whole(1, 2), channels(), whole(5, 40), whole(5, 40)}) : start({whole(1, 200), channels()});
    for (int i = 0; i < layers; ++i) {
      images ? convolve() : multiply();
      if (whole(0, 1) == 0 && i + 1 < layers) images ? move_image() : transpose();
    }
  }

  /// That returns the last result, and the others with it if `all`.
  ir::Module make(bool all) const {
    std::string outputs = "%" + names_.back();
    for (size_t i = 1; all && i + 1 < names_.size(); ++i) outputs += ", %" + names_[i];
    const auto module = ir::parse(constants_ + head_ + values_ + body_ + "return " + outputs + "\n}\n");
    EXPECT_TRUE(module.ok()) << module.error().text();
    return *module;
  }

 private:
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  int channels() { return whole(0, 2) == 0 ? whole(5, 70) : 16 * whole(1, 4); }

  static std::string type_of(const std::vector<int>& sizes) {
    std::string type;
    for (const int size : sizes) type += (type.empty() ? "f32[" : ",") + std::to_string(size);
    return type + "]";
  }

  void start(std::vector<int> sizes) {
    sizes_ = std::move(sizes);
    names_.emplace_back("x");
    head_ = "method forward(%x: " + type_of(sizes_) + ") {\n";
  }

  void add_constant(const std::string& name, const std::vector<int>& sizes) {
    std::string numbers;
    int count = 1;
    for (const int size : sizes) count *= size;
    for (int i = 0; i < count; ++i) numbers += (i == 0 ? "" : ", ") + std::to_string(whole(-500, 500) / 1000.0);
    constants_ += "const @" + name + ": " + type_of(sizes) + " = dense<[" + numbers + "]>\n";
    values_ += "%" + name + ": " + type_of(sizes) + " = const @" + name + "\n";
  }

  // A result that is neither returned nor read by others than those behind it.
  std::string add_hidden(const std::vector<int>& sizes, const std::string& call) {
    const std::string name = "h" + std::to_string(++hidden_);
    body_ += "%" + name + ": " + type_of(sizes) + " = " + call + "\n";
    return name;
  }
  void add_result(const std::string& call) {
    const std::string name = "r" + std::to_string(names_.size());
    body_ += "%" + name + ": " + type_of(sizes_) + " = " + call + "\n";
    names_.push_back(name);
  }

  void finish(const std::string& call) {
    const std::string name = "r" + std::to_string(names_.size()), type = type_of(sizes_);
    const bool plain = whole(0, 2) == 0;
    body_ += "%" + (plain ? name : "s" + name) + ": " + type + " = " + call + "\n";
    if (!plain)
      body_ += "%" + name + ": " + type + " = aten::" + (whole(0, 1) == 0 ? "relu" : "sigmoid") + "(%s" + name + ")\n";
    names_.push_back(name);
  }

  std::string convolution(const std::string& from, const std::string& weight, int stride, int padding) {
    const std::string two = std::to_string(stride) + ", " + std::to_string(stride);
    return "aten::convolution(%" + from + ", %" + weight + ", none, [" + two + "], [" + std::to_string(padding) + ", " +
           std::to_string(padding) + "], [1, 1], false, [0, 0], 1)";
  }
  void convolve() {
    const std::string weight = "w" + std::to_string(names_.size()), from = names_.back();
    const int window = whole(0, 2) == 0 || std::min(sizes_[2], sizes_[3]) < 3 ? 1 : 3;
    const int stride = whole(0, 3) == 0 ? 2 : 1, padding = whole(0, window / 2), in = sizes_[1];
    sizes_[1] = channels();
    add_constant(weight, {sizes_[1], in, window, window});
    for (const size_t i : {2, 3}) sizes_[i] = (sizes_[i] + 2 * padding - window) / stride + 1;
    finish(convolution(from, weight, stride, padding));
  }
  // Of the last result, with as many pixels.
  std::string hidden_convolution(int to) {
    const std::string weight = "v" + std::to_string(++hidden_);
    const int window = whole(0, 1) == 0 ? 1 : 3, in = sizes_[1];
    add_constant(weight, {to, in, window, window});
    std::vector<int> sizes = sizes_;
    sizes[1] = to;
    return add_hidden(sizes, convolution(names_.back(), weight, 1, window / 2));
  }

  void move_image() {
    switch (whole(0, 4)) {
      case 0: return pool(names_.back());
      case 1: {
        const int first = channels(), last = channels();
        const std::string a = hidden_convolution(first), b = hidden_convolution(last);
        sizes_[1] = 2 * (first + last);
        // So many parts that a convolution over them is not a sum of convolutions, whichever of its inputs are
        // returned.
        return pool(add_hidden(sizes_, "aten::cat([%" + a + ", %" + b + ", %" + a + ", %" + b + "], 1)"));
      }
      case 2: {
        const int to = channels();
        const std::string a = hidden_convolution(to), b = hidden_convolution(to);
        sizes_[1] = to;
        return finish("aten::add.Tensor(%" + a + ", %" + b + ", 1)");
      }
      case 3:
        for (const size_t i : {2, 3}) sizes_[i] *= 2;
        return add_result("aten::upsample_nearest2d.vec(%" + names_.back() + ", none, [2.0, 2.0])");
      default: {
        const std::string from = names_.back();
        std::swap(sizes_[2], sizes_[3]);
        return add_result("aten::permute_copy(%" + from + ", [0, 1, 3, 2])");
      }
    }
  }
  void pool(const std::string& from) {
    const std::string name = "r" + std::to_string(names_.size());
    for (const size_t i : {2, 3}) sizes_[i] = (sizes_[i] - 1) / 2 + 1;
    const std::string type = type_of(sizes_);
    body_ += "%" + name + ": " + type + ", %i" + name + ": i64" + type.substr(3) +
             " = aten::max_pool2d_with_indices(%" + from + ", [3, 3], [2, 2], [1, 1], [1, 1], false)\n";
    names_.push_back(name);
  }

  void multiply() {
    const std::string weight = "w" + std::to_string(names_.size()), from = names_.back();
    const int depth = sizes_[1];
    sizes_[1] = channels();
    add_constant(weight, {depth, sizes_[1]});
    finish("aten::mm(%" + from + ", %" + weight + ")");
  }
  void transpose() {
    const std::string from = names_.back();
    std::swap(sizes_[0], sizes_[1]);
    add_result("aten::t_copy(%" + from + ")");
  }

  std::mt19937 random_;
  int hidden_ = 0;
  std::vector<int> sizes_;
  std::vector<std::string> names_;
  std::string constants_, head_, values_, body_;
};

// What is returned stays f32, what is not is stored as bf16 for the next product, which would round it.
TEST(RandomCpu, NarrowResultsGiveTheBitsOfWideOnes) {
  const std::unique_ptr<HostThreadPool> pools[] = {std::make_unique<HostThreadPool>(2),
                                                   std::make_unique<HostThreadPool>(4)};
  const char* from = std::getenv("BERTH_SEED");
  const unsigned first = from != nullptr ? static_cast<unsigned>(std::strtoul(from, nullptr, 10)) : 1;
  for (unsigned seed = first; seed < first + 40 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
    const Chain chain(seed);
    CompileOptions options;
    options.target = "cpu";
    options.precision = "bf16";
    options.cpu = seed % 5 == 0 ? "generic" : "native";
    ThreadPool* const pool = seed % 2 == 0 ? pools[seed / 2 % 2].get() : nullptr;
    const Outputs want = outputs_of(chain.make(true), options, pool);
    const Outputs got = outputs_of(chain.make(false), options, pool);
    ASSERT_GE(want.size(), 2u);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(want[0], got[0]);
  }
}

}  // namespace
}  // namespace berth
