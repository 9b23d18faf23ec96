// Launch: how a kernel of this room asks for a kernel of the device.
//
//   return Launch(context, ShaderId::softmax).reads(self).writes(out).number(length).run(rows);
//
// What it needs is remembered, and made into commands when all kernels of the delegate have asked (recorder.h).
#pragma once

#include "backends/vulkan/session.h"
#include "kernels/portable/iterate.h"
#include "runtime/kernel.h"

namespace berth::vulkan {

/// Elements [begin, end) of a tensor's memory.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  /// Takes in a dimension of `size` elements that lie `stride` apart.
  void extend(int64_t size, int64_t stride) {
    if (size > 0) (stride < 0 ? begin : end) += (size - 1) * stride;
  }
};

class Launch {
 public:
  Launch(KernelContext& context, ShaderId shader);
  /// `texels` instead on devices where kernels that read texels are faster.
  Launch(KernelContext& context, ShaderId shader, ShaderId texels);

  /// A kernel for tensors of any type (shaders/typed.glsl): `words` where all have 32 or 64 bits, else `all`.
  static Launch of_any_type(KernelContext& context, ShaderId words, ShaderId all);

  /// The next specialisation constant.
  Launch& constant(int64_t value);
  /// The next buffer: all of a tensor, or none. Tensors that are written may be read too.
  Launch& reads(const Tensor* tensor) { return bind(tensor, false); }
  Launch& reads(const Tensor& tensor) { return bind(&tensor, false); }
  Launch& writes(const Tensor& tensor) { return bind(&tensor, true); }
  /// A part of a tensor alone, so that kernels on other parts need not wait.
  Launch& reads(const Tensor& tensor, Range range) { return bind(&tensor, false, &range); }
  Launch& writes(const Tensor& tensor, Range range) { return bind(&tensor, true, &range); }
  Launch& none() { return bind(nullptr, false); }
  /// Where the kernel says that an index was out of range, which the next call that waits for the stream returns.
  Launch& faults();
  /// The buffer that was named last is f32, each element of which is rounded to bf16 when it is read.
  Launch& as_bf16();
  /// The next number of the kernel's, a whole one of 32 bits or a real one.
  Launch& number(int64_t value);
  Launch& real(double value);
  Launch& word(uint32_t bits);
  /// A number that the kernel computes by itself: as number(), for its size alone.
  Launch& check(int64_t value);
  /// How often the loops of an invocation come round in all, at most. lavapipe ends them at 65535, and gives what has
  /// been computed by then for the result: NotSupported instead.
  Launch& rounds(int64_t count);
  /// Sizes of a walk, then the strides of each operand: (1 + operands) * rank numbers.
  Launch& walk(const portable::Walk& walk);

  /// For `count` work items, a workgroup for each `items_a_group` of them. NotSupported when something is too large for
  /// the device's kernels: numbers of more than 32 bits, tensors of more bytes than a kernel may see; and for tensors
  /// of 16 bits on devices that cannot store them.
  Error run(int64_t count, int64_t items_a_group = 64);

 private:
  Launch& bind(const Tensor* tensor, bool writes, const Range* range = nullptr);
  Error choose_form();
  bool is_narrow() const;
  bool has_less_than_words() const;
  bool views_give_all() const;

  KernelContext& context_;
  Session& session_;
  Step step_;
  ShaderId shader_;  // for storage buffers
  bool any_type_ = false;
  bool fits_ = true;
  bool found_ = true;
  bool ends_ = true;
};

}  // namespace berth::vulkan
