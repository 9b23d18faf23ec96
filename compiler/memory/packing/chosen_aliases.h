// Rigid bodies: the buffers that the taken candidates tie together, each at its distance from the others.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/memory/packing/body_index.h"
#include "compiler/memory/packing/problem.h"

namespace berth::packing {

/// Candidates that are decided together: one by itself, or all of one all_or_none.
using CandidateGroup = std::vector<int32_t>;

/// The units of `problem` in the order of their first candidates.
std::vector<CandidateGroup> candidate_groups(const Problem& problem);

/// Where a buffer is in its body.
struct Member {
  int32_t body = -1;
  int64_t shift = 0;  // bytes: its offset less that of the body's first buffer
};

/// Where a body may lie.
struct BodyPlace {
  int64_t alignment = 1;
  int64_t shift = 0;          // of the buffer that is aligned: body + shift is a multiple of alignment
  int64_t fixed = kAnywhere;  // of that buffer
  int64_t lowest = 0;         // what that buffer's offset is at least, so that no member lies below 0
};

/// A set of candidates that can be taken together, grown unit by unit. A body has the number of one of its
/// buffers.
class ChosenAliases {
 public:
  /// None is taken. REQUIRES: check(problem) is ok; the problem outlives this.
  explicit ChosenAliases(const Problem& problem);

  /// Takes all candidates of `unit`, or leaves everything as it was and returns false: when two buffers of one body
  /// would share bytes in a step without a candidate between them, when a cycle of candidates contradicts itself, when
  /// alignments or fixed offsets do.
  bool take(const CandidateGroup& unit);

  const std::vector<bool>& taken() const { return taken_; }
  const Member& member(int32_t buffer) const { return members_[buffer]; }
  /// Whether this is the number of a body.
  bool is_body(int32_t number) const { return member(number).body == number; }
  /// The buffers of a body.
  const std::vector<int32_t>& buffers_of(int32_t body) const { return bodies_[body]; }
  /// False when no offset suits all members.
  bool place_of(int32_t body, BodyPlace* place) const;

 private:
  /// What the members of a body ask of its place.
  struct Frame {
    int64_t alignment = 0;  // the largest
    int64_t shift = 0;      // of the buffer that has it
    int64_t least_shift = 0;
    bool any_fixed = false;
    int64_t fixed = 0;  // of the body's first buffer
    bool possible = true;
  };
  struct Joined {
    int32_t kept;
    int32_t gone;
    size_t kept_size;  // before
    int64_t moved_by;
    Frame kept_frame;  // before
  };
  /// Joins the two bodies of a candidate; false when buffers of them collide. Those of one body did not before, and
  /// that all candidates of the unit count as taken only excuses more: so each pair is compared once, when it comes
  /// together.
  bool tie(const Candidate& candidate);
  std::vector<int32_t> bodies_of(const CandidateGroup& unit) const;
  /// Whether one of `move` collides with one of the first `kept_size` buffers of `kept`.
  bool any_collide_with(const std::vector<int32_t>& move, int32_t kept, size_t kept_size);
  void add_to_index(int32_t body, size_t from);
  BodyIndex::Box box_of(int32_t buffer) const;
  void frame_again(std::vector<int32_t>* bodies);
  Frame frame_of(int32_t body) const;
  Frame frame_of_storage(int32_t buffer) const;
  static Frame joined(const Frame& a, const Frame& b, int64_t b_moved_by);
  static bool to_place(const Frame& frame, BodyPlace* place);
  bool collide(int32_t a, int32_t b) const;
  bool excused(int32_t a, int32_t b) const;
  int64_t alignment_of(int32_t buffer) const;
  void undo();

  const Problem& problem_;
  std::vector<bool> taken_;
  std::vector<Member> members_;
  std::vector<std::vector<int32_t>> bodies_;
  std::vector<std::vector<int32_t>> candidates_of_;  // of each buffer: the candidates that name it
  std::vector<int64_t> moved_alignments_;  // of each buffer: the largest of the taken candidates that move it, or 0
  std::vector<Frame> frames_;              // of each body
  std::map<int32_t, BodyIndex> indices_;   // of large bodies; made when first asked
  std::vector<Joined> log_;                // of the unit that is being taken
};

}  // namespace berth::packing
