// What rounds products of quantised numbers to 8 bits: the result's scale, zero point and limits, in a product's
// arguments, and sums whose terms were rounded before they were added.
#pragma once

#include <map>

#include "compiler/fuse/fuse_activations.h"
#include "compiler/fuse/quantized_product.h"

namespace berth::fuse {

/// Passes the scales of `product`, and a bias of f32, through multiplication by `factor`. False where a scale is no
/// longer one; then `product` is as it was.
bool multiply_scale(const Context& context, ir::Builder& build, float factor, QuantizedProduct* product);

/// Rounds what `product` gives by `q`, after all else that it does. `scale`: `q`'s, or 1 where the product has it in
/// its own; `low` and `high`: the least and the largest result.
void set_rounding(const Quantized& q, double scale, int64_t low, int64_t high, QuantizedProduct* product);

/// The same with `q`'s scale in the scale of the sums, and limits of an activation in the range of the result: nothing
/// is left to do between the sums and rounding them. False where the product has more than that behind it.
bool set_fast_rounding(const Context& context, ir::Builder& build, const Quantized& q, QuantizedProduct* product);

/// Whether everything from `integers` to `value`, which is made of them by dequantized(), is read once.
bool is_read_once(const Context& context, ir::ValueId value, ir::ValueId integers);

/// What is rounded: [an activation of] a sum of two, of which one was rounded as an 8-bit product.
struct RoundedSum {
  QuantizedProduct product;  // with its middle
  float steps;               // its sums become numbers when this multiplies their scales
  ActivationOf activation;
  ir::ValueId residual;  // the other term
};

/// The products of 8 bits that a pass has made, as they were before they were rounded.
class RoundedProducts {
 public:
  /// `result` is `product`, which has no residual, rounded by `rounding`.
  void add(ir::ValueId result, const QuantizedProduct& product, const Quantized& rounding) {
    unrounded_.emplace(result, Unrounded{product, rounding});
  }

  /// The sum that `q` rounds; nothing where it rounds none, or the term that was a product has other readers.
  std::optional<RoundedSum> sum_of(const Context& context, const Quantized& q) const;

 private:
  struct Unrounded {
    QuantizedProduct product;
    Quantized rounding;
  };
  struct Middle {
    QuantizedProduct product;
    float steps;
  };

  // The product behind `value`, which is dequantised from its 8-bit result, that nothing else reads.
  std::optional<Middle> middle_product(const Context& context, ir::ValueId value, const Quantized& q) const;

  std::map<ir::ValueId, Unrounded> unrounded_;  // by the 8-bit result
};

}  // namespace berth::fuse
