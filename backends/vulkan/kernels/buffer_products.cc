#include "backends/vulkan/kernels/buffer_products.h"

namespace berth::vulkan {
namespace {

using portable::Product;

int64_t up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

// Whether each position reads one element of its own, which is always there.
bool has_no_taps(const Product& p) {
  for (const Product::Axis& axis : p.axis) {
    if (axis.taps != 1 || axis.origin < 0 || axis.origin + (axis.count - 1) * axis.step >= axis.size) return false;
  }
  return true;
}

// Whether a matrix begins where four elements do.
bool begins_whole(const Product& p, const Tensor& tensor, const void* first) {
  const size_t four = 4 * element_size(tensor.dtype());
  return reinterpret_cast<uintptr_t>(tensor.raw()) % four == 0 && Finish::first(p, &tensor, first) % 4 == 0;
}

// Whether a kernel may read A along its depth and B along its columns four elements at a time.
bool takes_vectors(const Product& p, const Finish& finish) {
  if (!has_no_taps(p) || p.channel_a != 1 || p.channels % 4 != 0 || p.columns() % 4 != 0) return false;
  int64_t inside = 1;  // columns of the axes inside this one, which must lie one after the other
  for (int i = 2; i >= 0; --i) {
    const Product::Axis& axis = p.axis[i];
    if (axis.count == 1 && axis.origin == 0) continue;
    if (axis.origin != 0 || axis.step * axis.b != inside) return false;
    inside *= axis.count;
  }
  const int64_t places[] = {p.row_a, p.channel_b, p.batch[0].a, p.batch[0].b, p.batch[1].a, p.batch[1].b};
  for (int64_t place : places) {
    if (place % 4 != 0) return false;
  }
  return begins_whole(p, *finish.a, p.a) && begins_whole(p, *finish.b, p.b);
}

enum class Form {
  kSmall,  // an invocation computes up to four rows by four columns (product.comp)
  kBlock,  // a group computes a square through shared memory (block.comp)
  kDeep,   // a group computes one row by four columns, each invocation a part of the sums (deep.comp)
};

// How often the loops of an invocation come round, at most.
int64_t rounds_of_small(const Product& p) { return p.taps() * (1 + p.channels); }
int64_t rounds_of_block(const Product& p) {
  constexpr int64_t kDepth = 16;  // of a slice, of which an invocation reads as many elements of each factor
  return up(p.depth(), kDepth) * (1 + 3 * kDepth);
}

// Blocks where one is half full at least; sums in parts where there are too few elements to keep a card at work, and
// where the driver would end the loops of the others. What shared memory both need (10 KiB) and how large their groups
// are (128) is below what each device of Vulkan must have.
Form form_of(const Gpu& gpu, const Product& p) {
  constexpr int64_t kMostRounds = 65000;
  const int64_t few = gpu.is_large_card() ? 16384 : 4096;
  const auto ends = [&](int64_t rounds) { return gpu.ends_loops() && rounds > kMostRounds; };
  if (gpu.is_card()) {
    if (p.depth() >= 512 && p.rows * p.columns() * p.batches() <= few) return Form::kDeep;
    if (p.rows >= 16 && p.columns() >= 16 && p.depth() >= 16 && !ends(rounds_of_block(p))) {
      return Form::kBlock;
    }
  }
  return ends(rounds_of_small(p)) ? Form::kDeep : Form::kSmall;
}

// The side of a block: small ones leave registers free, which cards without a memory of their own have few of, and
// make more groups of a small product.
int64_t side_of(const Gpu& gpu, const Product& p) {
  constexpr int64_t kLarge = 64;
  constexpr int64_t kManyGroups = 64;
  const bool fills = p.rows > 32 && p.columns() > 32;
  const int64_t groups = up(p.rows, kLarge) * up(p.columns(), kLarge) * p.batches();
  return gpu.is_large_card() && fills && groups >= kManyGroups ? kLarge : 32;
}

bool rounds_to_bf16(const Tensor& weight, const Tensor& input) {
  return weight.dtype() == DType::kBF16 && input.dtype() == DType::kF32;
}

// The constants that all three have, their tensors and their numbers.
void ask_for(Launch& ask, const Product& p, const Finish& finish) {
  // What is multiplied with a weight of bf16 is rounded to that (kernels/portable/fused_narrow.h).
  ask.writes(*finish.c).reads(finish.a);
  if (rounds_to_bf16(*finish.b, *finish.a)) ask.as_bf16();
  ask.reads(finish.b);
  if (rounds_to_bf16(*finish.a, *finish.b)) ask.as_bf16();
  ask.reads(finish.bias).reads(finish.start);
  put_numbers(ask, p, finish);
}

void put_constants(Launch& ask, const Product& p, const Finish& finish) {
  ask.constant(static_cast<int64_t>(finish.activation.kind));
  ask.constant(finish.bias == nullptr ? 0 : finish.bias_by_row ? 1 : 2);
  ask.constant(finish.start == nullptr ? 0 : finish.start_like_c ? 1 : 2);
  ask.constant(has_no_taps(p) ? 0 : 1);
}

Error run_small(KernelContext& context, const Product& p, const Finish& finish) {
  const bool vectors = takes_vectors(p, finish);
  const bool one_row = p.rows == 1;
  Launch ask(context, one_row ? (vectors ? ShaderId::product_1_vectors : ShaderId::product_1)
                              : (vectors ? ShaderId::product_4_vectors : ShaderId::product_4));
  put_constants(ask, p, finish);
  ask_for(ask, p, finish);
  ask.rounds(rounds_of_small(p));
  return ask.run(up(p.rows, one_row ? 1 : 4) * up(p.columns(), 4) * p.batches());
}

Error run_block(KernelContext& context, const Gpu& gpu, const Product& p, const Finish& finish) {
  const int64_t side = side_of(gpu, p);
  Launch ask(context, side == 64 ? ShaderId::block_64 : ShaderId::block_32);
  put_constants(ask, p, finish);
  ask.constant(p.channel_a == 1 ? 0 : 1).constant(p.channel_b == 1 ? 0 : 1).constant(p.row_c == 1 ? 1 : 0);
  ask_for(ask, p, finish);
  return ask.run(up(p.rows, side) * up(p.columns(), side) * p.batches(), 1);
}

Error run_deep(KernelContext& context, const Product& p, const Finish& finish) {
  Launch ask(context, ShaderId::deep);
  put_constants(ask, p, finish);
  ask_for(ask, p, finish);
  return ask.run(p.rows * up(p.columns(), 4) * p.batches(), 1);
}

}  // namespace

Error run_buffers(KernelContext& context, const Gpu& gpu, const Product& p, const Finish& finish) {
  switch (form_of(gpu, p)) {
    case Form::kBlock: return run_block(context, gpu, p, finish);
    case Form::kDeep: return run_deep(context, p, finish);
    case Form::kSmall: break;
  }
  return run_small(context, p, finish);
}

}  // namespace berth::vulkan
