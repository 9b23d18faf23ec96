// The convolutions of berth::inverted_residual, the engines that compute them by rows, and how these share the work.
#pragma once

#include <memory>

#include "format/arguments.h"
#include "kernels/cpu/conv_engine.h"
#include "kernels/portable/fused_inverted_residual.h"

namespace berth::cpu {

/// The convolutions, in order.
enum BlockStage { kExpand, kDepthwise, kProject, kBlockStages };

/// Where the arguments have the weight of each, and the text of its packing.
constexpr size_t kStageWeight[kBlockStages] = {arg::inverted_residual_out::expand_weight,
                                               arg::inverted_residual_out::weight,
                                               arg::inverted_residual_out::project_weight};
constexpr size_t kStagePacking[kBlockStages] = {arg::inverted_residual_out::expand_packing,
                                                arg::inverted_residual_out::packing,
                                                arg::inverted_residual_out::project_packing};

/// The arguments by stage; those of one that is not there are null.
struct StageArguments {
  const Tensor* weight[kBlockStages];
  const Tensor* bias[kBlockStages];
  StringRef packing[kBlockStages];

  explicit StageArguments(const arguments::inverted_residual_out& args)
      : weight{args.expand_weight, &args.weight, args.project_weight},
        bias{args.expand_bias, args.bias, args.project_bias},
        packing{args.expand_packing, args.packing, args.project_packing} {}
};

/// The engines of the stages that are there.
struct BlockEngines {
  std::unique_ptr<Engine> of[kBlockStages];
};

/// How the work is shared out, and what memory a thread needs for its part.
struct BlockPlan {
  int64_t rows = 1;                         // of the result, at a time
  int64_t strips = 1;                       // of an image: items of so many rows, the last one perhaps fewer
  int64_t kept_rows = 0;                    // that the memory of what is expanded holds
  int64_t kept = 0, seen = 0, scratch = 0;  // floats of a slot
  int slots = 1;

  int64_t floats() const { return kept + seen + scratch; }
  size_t bytes() const { return slots * floats() * sizeof(float); }
};

/// Whether calls may have other sizes than these, which are the largest then.
bool has_open_sizes(const arguments::inverted_residual_out& args);

/// The engines of a call on `threads` threads, and their plan. False where there is a stage that none computes by rows,
/// or tensors that they do not take: other layouts than channels-last, no elements.
bool make_block_engines(const arguments::inverted_residual_out& args, const portable::InvertedResidual& sizes,
                        int threads, BlockEngines* engines, BlockPlan* plan);

/// Has the engines and the plan be for `sizes` from now on, in no more than `most_bytes` of memory. False where that is
/// not possible; then they are for no sizes. Takes nothing from the heap. REQUIRES: has_open_sizes(args), engines of
/// make_block_engines().
bool resize_block(const arguments::inverted_residual_out& args, const portable::InvertedResidual& sizes, int threads,
                  size_t most_bytes, BlockEngines* engines, BlockPlan* plan);

}  // namespace berth::cpu
