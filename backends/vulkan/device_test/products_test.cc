// Products, convolutions, pooling, resampling and what is fused, on random shapes and orders, beside the portable
// kernels.

#include "backends/vulkan/device_test/tested.h"

namespace berth::vulkan {
namespace {

[[maybe_unused]] const ::testing::Environment* const kDevice = ::testing::AddGlobalTestEnvironment(new TestedDevice);

constexpr uint32_t kCases = 6;
const char* const kActivations[] = {"none", "relu",         "clamp",      "leaky_relu", "sigmoid",   "tanh",
                                    "silu", "hard_sigmoid", "hard_swish", "gelu",       "gelu_tanh", "elu"};

TEST_P(VulkanKernelsOfTypes, ProductsOfMatricesOfAnyOrder) {
  for (uint32_t seed = 0; seed < cases(kCases); ++seed) {
    Dice dice(seed);
    // Multiples of four are read four at a time.
    const int32_t unit = seed % 2 == 0 ? 1 : 4;
    const int32_t m = dice.size(19), n = unit * dice.size(7), k = unit * dice.size(10), batch = dice.size(3);
    const Array a = dice.array({m, k}, true), b = dice.array({k, n}, true);
    const Array y = room({m, n}, dice.order(2));
    EXPECT_SAME(mm_out, {a, b, y}, {a, b}, {y});
    const Array row = dice.array({n}), all = dice.array({m, n}, true);
    EXPECT_SAME(addmm_out, {row, a, b, 0.5, 2, y}, {row, a, b}, {y});
    EXPECT_SAME(addmm_out, {all, a, b, 1, 1, y}, {all, a, b}, {y});
    EXPECT_SAME(addmm_out, {all, a, b, 0, 1, y}, {all, a, b}, {y});
    const Array as = dice.array({batch, m, k}, true), bs = dice.array({batch, k, n}, true);
    const Array ys = room({batch, m, n}, dice.order(3));
    EXPECT_SAME(bmm_out, {as, bs, ys}, {as, bs}, {ys});
    const Array w = dice.array({k, n});
    elements = DType::kF32;  // all but the weight of what is fused
    const Array x = dice.array({batch, m, k}), bias = dice.array({n});
    const Array r = dice.array({batch, m, n}), z = room({batch, m, n});
    for (const char* activation : {kActivations[2 * seed], kActivations[2 * seed + 1]}) {
      EXPECT_SAME(fused_linear_out, {x, w, bias, r, activation, 0.3, 0.8, "", z}, {x, w, bias, r}, {z});
    }
    EXPECT_SAME(fused_linear_out, {x, w, nullptr, nullptr, "none", 0, 0, "", z}, {x, w}, {z});
    elements = GetParam();
    if (HasFailure()) return;
  }
}

// Cards have blocks of 64 by 64 for this many elements, and of 32 by 32 for fewer; both with edges that are not full.
TEST_P(VulkanKernelsOfTypes, LargeProductsOfMatricesInBlocks) {
  for (const bool large : {true, false}) {
    Dice dice(large ? 1 : 2);
    const int32_t m = large ? 450 + dice.size(60) : 15 + dice.size(60),
                  n = large ? 450 + dice.size(60) : 15 + dice.size(60);
    const int32_t k = 15 + dice.size(10);
    const Array a = dice.array({m, k}, true), b = dice.array({k, n}, true), row = dice.array({n});
    const Array y = room({m, n}, dice.order(2));
    EXPECT_SAME(mm_out, {a, b, y}, {a, b}, {y});
    if (large) continue;
    EXPECT_SAME(addmm_out, {row, a, b, 0.5, 2, y}, {row, a, b}, {y});
  }
}

// Few elements that are long sums.
TEST_P(VulkanKernelsOfTypes, DeepProductsOfMatricesInParts) {
  for (uint32_t seed = 0; seed < cases(kCases); ++seed) {
    Dice dice(seed);
    const int32_t m = dice.size(3), n = dice.size(9), k = 500 + dice.size(5000);
    const Array a = dice.array({m, k}, true), b = dice.array({k, n}, true), row = dice.array({n});
    const Array y = room({m, n}, dice.order(2));
    EXPECT_SAME(mm_out, {a, b, y}, {a, b}, {y});
    EXPECT_SAME(addmm_out, {row, a, b, 0.5, 2, y}, {row, a, b}, {y});
    if (HasFailure()) return;
  }
}

// Longer than lavapipe lets one invocation's loops run.
TEST_P(VulkanKernelsOfTypes, ProductsDeeperThanTheDriversLoops) {
  using List = std::vector<int64_t>;
  Dice dice(1);
  const int32_t k = 300001;
  const Array a = dice.array({2, k}), b = dice.array({k, 3}, true), y = room({2, 3});
  EXPECT_SAME(mm_out, {a, b, y}, {a, b}, {y});
  const Array x = dice.ordered({1, 9000, 3, 3}, {0, 2, 3, 1}), w = dice.ordered({2, 9000, 3, 3}, {0, 2, 3, 1});
  const Array bias = dice.array({2}), z = room({1, 2, 3, 3}, {0, 2, 3, 1});
  EXPECT_SAME(convolution_out, {x, w, bias, List{1, 1}, List{1, 1}, List{1, 1}, false, List{0, 0}, 1, z}, {x, w, bias},
              {z});
}

struct RandomConvolution {
  explicit RandomConvolution(Dice& dice) {
    const int axes = static_cast<int>(dice.number(1, 3));
    transposed = dice.coin();
    groups = dice.number(0, 2) == 0 ? dice.size(4) : 1;
    const auto per_group = [&] { return dice.number(0, 2) == 0 ? 1 : dice.size(6); };
    const int32_t in = static_cast<int32_t>(groups) * per_group();
    const int32_t out = per_group();
    std::vector<int32_t> x_sizes = {dice.size(2), in};
    std::vector<int32_t> w_sizes = {in, out};
    if (!transposed) w_sizes = {static_cast<int32_t>(groups) * out, in / static_cast<int32_t>(groups)};
    y_sizes = {x_sizes[0], static_cast<int32_t>(groups) * out};
    for (int i = 0; i < axes; ++i) {
      const int64_t kernel = dice.number(1, 4), step = dice.number(1, 3), spread = dice.number(1, 2);
      const int64_t pad = dice.number(0, kernel - 1);
      const int64_t least = transposed ? 1 : std::max<int64_t>(1, spread * (kernel - 1) + 1 - 2 * pad);
      const int64_t size = dice.number(least, least + 7);
      const int64_t extra = transposed && step > 1 ? dice.number(0, step - 1) : 0;
      const int64_t made = transposed ? (size - 1) * step - 2 * pad + spread * (kernel - 1) + extra + 1
                                      : (size + 2 * pad - spread * (kernel - 1) - 1) / step + 1;
      whole = whole && made > 0;
      x_sizes.push_back(static_cast<int32_t>(size));
      w_sizes.push_back(static_cast<int32_t>(kernel));
      y_sizes.push_back(static_cast<int32_t>(made));
      stride.push_back(step);
      padding.push_back(pad);
      dilation.push_back(spread);
      output_padding.push_back(extra);
    }
    if (!whole) return;
    x = dice.image(x_sizes);
    w = dice.image(w_sizes);
    bias = dice.array({y_sizes[1]});
  }

  bool transposed = false;
  bool whole = true;
  int64_t groups = 1;
  std::vector<int32_t> y_sizes;
  std::vector<int64_t> stride, padding, dilation, output_padding;
  Array x = room({1}), w = room({1}), bias = room({1});
};

TEST_P(VulkanKernelsOfTypes, ConvolutionsOfAllKinds) {
  int tried = 0;
  for (uint32_t seed = 0; seed < cases(5 * kCases); ++seed) {
    Dice dice(seed);
    const RandomConvolution c(dice);
    if (!c.whole) continue;
    ++tried;
    const int rank = static_cast<int>(c.y_sizes.size());
    const Array y = room(c.y_sizes, dice.image_order(rank));
    const Array z = rounded(room(c.y_sizes, dice.image_order(rank)), DType::kF32);
    const Array x = rounded(c.x, DType::kF32), bias = rounded(c.bias, DType::kF32);
    const Array residual = rounded(dice.image(c.y_sizes), DType::kF32);
    EXPECT_SAME(convolution_out,
                {c.x, c.w, c.bias, c.stride, c.padding, c.dilation, c.transposed, c.output_padding, c.groups, y},
                {c.x, c.w, c.bias}, {y});
    EXPECT_SAME(convolution_out,
                {c.x, c.w, nullptr, c.stride, c.padding, c.dilation, c.transposed, c.output_padding, c.groups, y},
                {c.x, c.w}, {y});
    const char* activation = kActivations[seed % 2];
    EXPECT_SAME(fused_conv_out,
                {x, c.w, bias, residual, c.stride, c.padding, c.dilation, c.transposed, c.output_padding, c.groups,
                 activation, 0.3, 0.8, "", z},
                {x, c.w, bias, residual}, {z});
    EXPECT_SAME(fused_conv_out,
                {x, c.w, bias, nullptr, c.stride, c.padding, c.dilation, c.transposed, c.output_padding, c.groups,
                 activation, 0.3, 0.8, "", z},
                {x, c.w, bias}, {z});
    if (HasFailure()) return;
  }
  EXPECT_GT(tried, 3);
}

// With weights as order_weights leaves them. Multiples of four are read four at a time; three channels are joined with
// the taps beside them.
TEST_P(VulkanKernelsOfTypes, ConvolutionsOfImagesWithTheirChannelsInnermost) {
  using List = std::vector<int64_t>;
  const std::vector<uint8_t> last = {0, 2, 3, 1}, depth_last = {1, 2, 3, 0};
  const List none = {0, 0};
  for (uint32_t seed = 0; seed < cases(3 * kCases); ++seed) {
    Dice dice(seed);
    const int32_t groups = dice.number(0, 2) == 0 ? 2 : 1, in = seed % 3 == 0 ? 3 : 4 * dice.size(5);
    const int32_t out = seed % 4 == 1 ? dice.size(9) : 4 * dice.size(5);
    const int32_t height = 3 + dice.size(7), width = 3 + dice.size(7), tall = dice.size(3), wide = dice.size(3);
    const int64_t step = dice.number(1, 2), spread = tall < 3 && wide < 3 ? dice.number(1, 2) : 1;
    const int64_t pad = dice.number(0, std::min(tall, wide) - 1);
    const auto made = [&](int32_t size, int32_t kernel) {
      return static_cast<int32_t>((size + 2 * pad - spread * (kernel - 1) - 1) / step + 1);
    };
    const Array w = dice.ordered({groups * out, in, tall, wide}, last), v = dice.ordered({in, out, 2, 2}, depth_last);
    const Array up = dice.ordered({2, in, height, width}, last), of_out = dice.array({out});
    const Array larger = room({2, out, 2 * height, 2 * width}, last);
    EXPECT_SAME(convolution_out, {up, v, of_out, List{2, 2}, none, List{1, 1}, true, none, 1, larger}, {up, v, of_out},
                {larger});
    elements = DType::kF32;  // all but the weight of what is fused
    const Array x = dice.ordered({2, groups * in, height, width}, last);
    const std::vector<int32_t> sizes = {2, groups * out, made(height, tall), made(width, wide)};
    const Array bias = dice.array({groups * out}), residual = dice.ordered(sizes, last), y = room(sizes, last);
    const List steps = {step, step}, pads = {pad, pad}, spreads = {spread, spread};
    const char* const activation = kActivations[seed % 4];
    EXPECT_SAME(fused_conv_out,
                {x, w, bias, residual, steps, pads, spreads, false, none, groups, activation, 0.3, 0.8, "", y},
                {x, w, bias, residual}, {y});
    EXPECT_SAME(fused_conv_out,
                {x, w, nullptr, nullptr, steps, pads, spreads, false, none, groups, activation, 0.3, 0.8, "", y},
                {x, w}, {y});
    elements = GetParam();
    if (HasFailure()) return;
  }
}

TEST_P(VulkanKernelsOfTypes, ConvolutionsOfEachChannelByItself) {
  using List = std::vector<int64_t>;
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  for (uint32_t seed = 0; seed < cases(2 * kCases); ++seed) {
    Dice dice(seed);
    const int32_t channels = 1 + (seed % 2 == 0 ? 4 * dice.size(10) - 1 : dice.size(10));
    const int32_t height = 3 + dice.size(7), width = 3 + dice.size(7), kernel = 1 + 2 * dice.size(1);
    const int64_t step = dice.number(1, 2), pad = dice.number(0, 1);
    const auto made = [&](int32_t size) { return static_cast<int32_t>((size + 2 * pad - kernel) / step + 1); };
    const Array w = dice.ordered({channels, 1, kernel, kernel}, {1, 2, 3, 0});
    elements = DType::kF32;  // all but the weight of what is fused
    const Array x = dice.ordered({2, channels, height, width}, last);
    const std::vector<int32_t> sizes = {2, channels, made(height), made(width)};
    const Array bias = dice.array({channels}), residual = dice.ordered(sizes, last), y = room(sizes, last);
    const List steps = {step, step}, pads = {pad, pad}, ones = {1, 1}, none = {0, 0};
    const char* const activation = kActivations[seed % 3];
    EXPECT_SAME(fused_conv_out,
                {x, w, bias, residual, steps, pads, ones, false, none, channels, activation, 0.3, 0.8, "", y},
                {x, w, bias, residual}, {y});
    EXPECT_SAME(fused_conv_out,
                {x, w, nullptr, nullptr, steps, pads, ones, false, none, channels, "hard_swish", 0, 0, "", y}, {x, w},
                {y});
    elements = GetParam();
    if (HasFailure()) return;
  }
}

// Images large enough for blocks, in both orders, with few channels too.
TEST_P(VulkanKernelsOfTypes, ConvolutionsOfImagesInBlocks) {
  using List = std::vector<int64_t>;
  for (uint32_t seed = 0; seed < cases(kCases); ++seed) {
    Dice dice(seed);
    const int32_t groups = seed % 3 == 2 ? 2 : 1, in = seed % 2 == 0 ? 3 : 15 + dice.size(10), out = 20 + dice.size(40);
    const int32_t height = 6 + dice.size(20), width = 6 + dice.size(20);
    const int64_t step = dice.number(1, 2), spread = dice.number(1, 2), pad = dice.number(0, 2);
    const auto made = [&](int32_t size) { return static_cast<int32_t>((size + 2 * pad - spread * 2 - 1) / step + 1); };
    const std::vector<uint8_t> order = dice.image_order(4);
    const Array x = dice.ordered({2, groups * in, height, width}, order);
    const Array w = dice.ordered({groups * out, in, 3, 3}, order), bias = dice.array({groups * out});
    const Array y = room({2, groups * out, made(height), made(width)}, dice.image_order(4));
    EXPECT_SAME(convolution_out,
                {x, w, bias, List{step, step}, List{pad, pad}, List{spread, spread}, false, List{0, 0}, groups, y},
                {x, w, bias}, {y});
    if (HasFailure()) return;
  }
}

// Times their own inverse, as floats, these sizes are less than 1: a quotient by them is one too small before it is put
// right (shaders/product_numbers.glsl).
TEST_F(VulkanKernels, PixelsLieWhereWholeNumbersDivideThem) {
  using List = std::vector<int64_t>;
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  for (const int32_t size : {41, 47, 61, 83}) {
    Dice dice(static_cast<uint32_t>(size));
    const Array x = dice.ordered({1, 4, size, size}, last), w = dice.ordered({4, 4, 3, 3}, last);
    const Array y = room({1, 4, size, size}, last);
    EXPECT_SAME(convolution_out, {x, w, nullptr, List{1, 1}, List{1, 1}, List{1, 1}, false, List{0, 0}, 1, y}, {x, w},
                {y});
  }
}

// What padding brings is 0 by the weight, and never what lies beside the image.
TEST_F(VulkanKernels, NoElementOfAnotherLineIsReadAtAnEdge) {
  using List = std::vector<int64_t>;
  const std::vector<uint8_t> last = {0, 2, 3, 1};
  for (const int32_t channels : {3, 4}) {
    std::vector<double> values(2 * channels * 4 * 5, 1.0);
    // The last column of each line, which the first of the next must not see.
    for (size_t i = 4; i < values.size(); i += 5) values[i] = INFINITY;
    const Array x(DType::kF32, {2, channels, 4, 5}, values, last);
    const Array w(DType::kF32, {4, channels, 3, 3}, std::vector<double>(36 * channels, 0.5), last);
    const Array y = room({2, 4, 4, 5}, last);
    EXPECT_SAME(convolution_out, {x, w, nullptr, List{1, 1}, List{1, 1}, List{1, 1}, false, List{0, 0}, 1, y}, {x, w},
                {y});
  }
}

TEST_P(VulkanKernelsOfTypes, LinearLayersOfAllOrdersOfTheirWeight) {
  for (uint32_t seed = 0; seed < cases(kCases); ++seed) {
    Dice dice(seed);
    const int32_t rows = dice.size(70), n = 4 * dice.size(6), k = 4 * dice.size(12);
    const Array w = dice.ordered({k, n}, {1, 0});
    elements = DType::kF32;  // all but the weight of what is fused
    const Array x = dice.array({rows, k}), bias = dice.array({n});
    const Array residual = dice.array({rows, n}), y = room({rows, n});
    EXPECT_SAME(fused_linear_out, {x, w, bias, residual, "relu", 0, 0, "", y}, {x, w, bias, residual}, {y});
    EXPECT_SAME(fused_linear_out, {x, w, nullptr, nullptr, "gelu", 0, 0, "", y}, {x, w}, {y});
    elements = GetParam();
    if (HasFailure()) return;
  }
}

TEST_P(VulkanKernelsOfTypes, PointwiseConvolutionsOfPlanesOfAnySize) {
  for (uint32_t seed = 0; seed < cases(kCases); ++seed) {
    Dice dice(seed);
    const int32_t groups = dice.size(2), in = 4 * dice.size(3), out = dice.size(9), height = dice.size(5);
    const int32_t width = seed % 3 == 0 ? dice.size(7) : 4 * dice.size(2);
    const Array x = dice.array({2, groups * in, height, width}), w = dice.array({groups * out, in, 1, 1});
    const Array bias = dice.array({groups * out}), y = room({2, groups * out, height, width});
    using List = std::vector<int64_t>;
    EXPECT_SAME(convolution_out, {x, w, bias, List{1, 1}, List{0, 0}, List{1, 1}, false, List{0, 0}, groups, y},
                {x, w, bias}, {y});
    if (HasFailure()) return;
  }
}

TEST_P(VulkanKernelsOfTypes, PlanesPooledAndResized) {
  for (uint32_t seed = 0; seed < cases(kCases); ++seed) {
    Dice dice(seed);
    const std::vector<int32_t> s = {dice.size(2), dice.size(5), 4 + dice.size(12), 4 + dice.size(12)};
    const Array x = dice.image(s);
    using List = std::vector<int64_t>;
    const List kernel = {dice.number(1, 3), dice.number(1, 3)}, stride = {dice.number(1, 3), dice.number(1, 2)};
    const List padding = {dice.number(0, kernel[0] / 2), dice.number(0, kernel[1] / 2)};
    const bool up = dice.coin();
    const auto pooled = [&](int d, int64_t spread) {
      const int64_t left = s[2 + d] + 2 * padding[d] - spread * (kernel[d] - 1) - 1;
      int64_t size = (left + (up ? stride[d] - 1 : 0)) / stride[d] + 1;
      if (up && (size - 1) * stride[d] >= s[2 + d] + padding[d]) --size;
      return static_cast<int32_t>(size);
    };
    const Array mean = room({s[0], s[1], pooled(0, 1), pooled(1, 1)}, dice.image_order(4));
    const Arg divisor = dice.coin() ? Arg(nullptr) : Arg(3);
    EXPECT_SAME(avg_pool2d_out, {x, kernel, stride, padding, up, dice.coin(), divisor, mean}, {x}, {mean});
    const List dilation = {dice.number(1, 2), dice.number(1, 2)};
    const std::vector<int32_t> sizes = {s[0], s[1], pooled(0, dilation[0]), pooled(1, dilation[1])};
    const Array most = room(sizes, dice.image_order(4));
    const Array indices(DType::kI64, sizes);
    EXPECT_SAME(max_pool2d_with_indices_out, {x, kernel, stride, padding, dilation, up, most, indices}, {x},
                {most, indices});
    const Array small = room({s[0], s[1], dice.size(5), dice.size(5)}, dice.image_order(4));
    const List wanted = {small.sizes()[2], small.sizes()[3]};
    EXPECT_SAME(adaptive_avg_pool2d_out, {x, wanted, small}, {x}, {small});
    const Array large = room({s[0], s[1], dice.size(30), dice.size(30)}, dice.image_order(4));
    const List size = {large.sizes()[2], large.sizes()[3]};
    EXPECT_SAME(upsample_nearest2d_vec_out, {x, size, nullptr, large}, {x}, {large});
    EXPECT_SAME(upsample_bilinear2d_vec_out, {x, size, false, nullptr, large}, {x}, {large});
    EXPECT_SAME(upsample_bilinear2d_vec_out, {x, size, true, nullptr, large}, {x}, {large});
    const Array twice = room({s[0], s[1], 2 * s[2], 2 * s[3]});
    EXPECT_SAME(upsample_bilinear2d_vec_out, {x, nullptr, false, std::vector<double>{2.0, 2.0}, twice}, {x}, {twice});
    if (HasFailure()) return;
  }
}

FOR_ALL_TYPES();

TEST_F(VulkanKernels, AttentionOfAllForms) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    Dice dice(seed);
    // Multiples of four are read four at a time.
    const int32_t batch = dice.size(2), heads = dice.size(3), size = seed % 2 == 0 ? dice.size(40) : 4 * dice.size(20);
    const int32_t queries = dice.size(20), keys = dice.size(20);
    const int32_t columns = 3 * heads * size;
    const Array q = dice.array({batch, queries, columns}), k = dice.array({batch, keys, columns});
    const Array v = dice.array({batch, keys, columns}), y = room({batch, queries, heads * size});
    Array mask = dice.array({dice.coin() ? batch : 1, dice.coin() ? heads : 1, queries, keys});
    std::vector<double> values = mask.values();
    for (double& value : values) value = dice.number(0, 3) == 0 ? -INFINITY : value;
    mask.set(values);
    const int64_t at = heads * size;
    EXPECT_SAME(fused_attention_out, {q, k, v, nullptr, heads, size, 0, at, 2 * at, 0.3, dice.coin(), y}, {q, k, v},
                {y});
    EXPECT_SAME(fused_attention_out, {q, k, v, mask, heads, size, 0, at, 2 * at, 0.3, false, y}, {q, k, v, mask}, {y});
    if (HasFailure()) return;
  }
}

// lavapipe ends the loops of an invocation when they have come round 65535 times, and says nothing.
TEST_F(VulkanKernels, LoopsThatTheDriverWouldEndAreRefused) {
  const Result<DeviceStream*> stream = device().create_stream(0);
  ASSERT_TRUE(stream.ok());
  const int32_t side = 300;
  const Array x = room({1, 1, side, side}), y = room({1, 1, 1, 1});
  std::vector<void*> host;
  for (const Array& array : {x, y}) {
    host.push_back(array.tensor().raw());
    const Result<void*> memory = device().allocate(array.tensor().nbytes(), 0);
    ASSERT_TRUE(memory.ok());
    array.tensor().set_data(*memory);
  }
  Session session;
  session.gpu = device().gpu(0);
  session.blocks = &device().blocks();
  session.stream = device().stream(*stream);
  using List = std::vector<int64_t>;
  std::vector<Arg> args = {x, List{side, side}, List{1, 1}, List{0, 0}, false, true, nullptr, y};
  std::vector<EValue*> values;
  for (Arg& arg : args) values.push_back(arg.value());
  KernelContext context({}, nullptr, {}, &session);
  const Error found = Kernel(vulkan::avg_pool2d_out)(context, values);
  EXPECT_EQ(found, session.gpu->ends_loops() ? Error::kNotSupported : Error::kOk);
  device().destroy_stream(*stream, 0);
  for (const Array& array : {x, y}) device().deallocate(array.tensor().raw(), 0);
  x.tensor().set_data(host[0]);
  y.tensor().set_data(host[1]);
}

TEST_F(VulkanKernels, MemoriesAndShuffles) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    Dice dice(seed);
    const int32_t steps = dice.size(5), rows = dice.size(3), size = dice.size(90), width = dice.coin() ? 16 : size;
    const int32_t blocks = (size + width - 1) / width;
    const Array gates = dice.array({steps, rows, 4 * size}), hidden = dice.array({rows, size});
    const Array cell = dice.array({rows, size}), weight = dice.array({blocks, size, 4, width});
    const Array out = room({steps, rows, size}), last = room({rows, size});
    EXPECT_SAME(fused_lstm_out, {gates, hidden, cell, weight, dice.coin(), out, last}, {gates, hidden, cell, weight},
                {out, last});
    const Array gate = dice.array({rows, 4 * size}), dense = dice.array({size, 4 * size});
    const Array next = room({rows, size}), kept = room({rows, size});
    EXPECT_SAME(fused_lstm_cell_out, {gate, hidden, cell, dense, "", next, kept}, {gate, hidden, cell, dense},
                {next, kept});
    const int32_t n = dice.size(2), h = dice.size(4), w = dice.size(5), first = 2 * dice.size(3),
                  second = 2 * dice.size(3);
    const Array a = dice.image({n, first, h, w}), b = dice.image({n, second, h, w});
    const int32_t here = static_cast<int32_t>(dice.number(1, first + second - 1));
    const Array one = room({n, here, h, w}, dice.image_order(4));
    const Array two = room({n, first + second - here, h, w}, dice.image_order(4));
    EXPECT_SAME(fused_shuffle_out,
                {Arg::list({a, b}), 2, std::vector<int64_t>{here, first + second - here}, Arg::list({one, two})},
                {a, b}, {one, two});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace berth::vulkan
