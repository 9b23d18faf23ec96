// Bodies: the buffers that the taken candidates hold at fixed distances from each other. A body is what gets an offset;
// a buffer of no taken candidate is a body by itself.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/memory/packing/body_constraints.h"
#include "compiler/memory/packing/overlap_index.h"
#include "compiler/memory/packing/problem.h"

namespace berth::packing {

/// Candidates that are decided together: one by itself, or all of one all_or_none.
using CandidateGroup = std::vector<int32_t>;

/// The groups of `problem` in the order of their first candidates.
std::vector<CandidateGroup> candidate_groups(const Problem& problem);

/// Where a buffer lies in its body.
struct InBody {
  int32_t body = -1;
  int64_t shift = 0;  // bytes: its offset less that of the body's first buffer
};

/// A set of candidates that can be taken together, grown group by group. A body has the number of one of its buffers.
class ChosenAliases {
 public:
  /// None is taken. REQUIRES: check(problem) is ok; the problem outlives this.
  explicit ChosenAliases(const Problem& problem);

  /// Takes all candidates of `group`, or leaves everything as it was and returns false: when two buffers of one body
  /// would share bytes in a step without a candidate between them, when a cycle of candidates contradicts itself, when
  /// alignments or fixed offsets do.
  bool take(const CandidateGroup& group);

  const std::vector<bool>& taken() const { return taken_; }
  const InBody& in_body(int32_t buffer) const { return in_body_[buffer]; }
  /// Whether this is the number of a body.
  bool is_body(int32_t number) const { return in_body(number).body == number; }
  /// The buffers of a body.
  const std::vector<int32_t>& buffers_of(int32_t body) const { return bodies_[body]; }
  AllowedOffsets allowed_offsets(int32_t body) const { return *constraints_[body].offsets(); }

 private:
  struct Joined {
    int32_t kept;
    int32_t gone;
    size_t kept_size;  // before
    int64_t moved_by;
    BodyConstraints kept_constraints;  // before
  };
  /// Joins the two bodies of a candidate; false when buffers of them collide. Those of one body did not before, and
  /// that all candidates of the group count as taken only excuses more: so each pair is compared once, when it comes
  /// together.
  bool tie(const Candidate& candidate);
  std::vector<int32_t> bodies_of(const CandidateGroup& group) const;
  /// Whether one of `move` collides with one of the first `kept_size` buffers of `kept`.
  bool any_collide_with(const std::vector<int32_t>& move, int32_t kept, size_t kept_size);
  void add_to_index(int32_t body, size_t from);
  OverlapIndex::Extent extent_of(int32_t buffer) const;
  void constrain_again(std::vector<int32_t>* bodies);
  BodyConstraints constraints_of(int32_t body) const;
  BodyConstraints constraints_of_buffer(int32_t buffer) const;
  bool collide(int32_t a, int32_t b) const;
  bool excused(int32_t a, int32_t b) const;
  int64_t alignment_of(int32_t buffer) const;
  void undo();

  const Problem& problem_;
  std::vector<bool> taken_;
  std::vector<InBody> in_body_;
  std::vector<std::vector<int32_t>> bodies_;         // of each body: its buffers
  std::vector<std::vector<int32_t>> candidates_of_;  // of each buffer: the candidates that name it
  std::vector<int64_t> moved_alignments_;     // of each buffer: the largest of the taken candidates that move it, or 0
  std::vector<BodyConstraints> constraints_;  // of each body
  std::map<int32_t, OverlapIndex> indices_;   // of large bodies; made when first asked
  std::vector<Joined> log_;                   // of the group that is being taken
};

}  // namespace berth::packing
