// Rigid bodies: the storages that the taken merges tie together, each at its distance from the others.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/plan/body_index.h"
#include "compiler/plan/problem.h"

namespace berth::plan {

/// Merges that are decided together: one by itself, or all of one all_or_none.
using MergeUnit = std::vector<int32_t>;

/// The units of `problem` in the order of their first merges.
std::vector<MergeUnit> merge_units(const Problem& problem);

/// Where a storage is in its body.
struct Member {
  int32_t body = -1;
  int64_t shift = 0;  // bytes: its offset less that of the body's first storage
};

/// Where a body may lie.
struct BodyPlace {
  int64_t alignment = 1;
  int64_t shift = 0;          // of the storage that is aligned: body + shift is a multiple of alignment
  int64_t fixed = kAnywhere;  // of that storage
  int64_t lowest = 0;         // what that storage's offset is at least, so that no member lies below 0
};

/// A set of merges that can be taken together, grown unit by unit. A body has the number of one of its
/// storages.
class MergeSet {
 public:
  /// None is taken. REQUIRES: check(problem) is well; the problem outlives this.
  explicit MergeSet(const Problem& problem);

  /// Takes all merges of `unit`, or leaves everything as it was and returns false: when two storages of one body would
  /// share bytes in a step without a merge between them, when a cycle of merges contradicts itself, when alignments or
  /// fixed offsets do.
  bool take(const MergeUnit& unit);

  const std::vector<bool>& taken() const { return taken_; }
  const Member& member(int32_t storage) const { return members_[static_cast<size_t>(storage)]; }
  /// Whether this is the number of a body.
  bool is_body(int32_t number) const { return member(number).body == number; }
  /// The storages of a body.
  const std::vector<int32_t>& storages_of(int32_t body) const { return bodies_[static_cast<size_t>(body)]; }
  /// False when no offset suits all members.
  bool place_of(int32_t body, BodyPlace* place) const;

 private:
  /// What the members of a body ask of its place.
  struct Frame {
    int64_t alignment = 0;  // the largest
    int64_t shift = 0;      // of the storage that has it
    int64_t least_shift = 0;
    bool any_fixed = false;
    int64_t fixed = 0;  // of the body's first storage
    bool possible = true;
  };
  struct Joined {
    int32_t kept;
    int32_t gone;
    size_t kept_size;  // before
    int64_t moved_by;
    Frame kept_frame;  // before
  };
  /// Joins the two bodies of a merge; false when storages of them collide. Those of one body did not before, and that
  /// all merges of the unit count as taken only excuses more: so each pair is compared once, when it comes together.
  bool tie(const Merge& merge);
  std::vector<int32_t> bodies_of(const MergeUnit& unit) const;
  /// Whether one of `move` collides with one of the first `kept_size` storages of `kept`.
  bool any_collide_with(const std::vector<int32_t>& move, int32_t kept, size_t kept_size);
  void add_to_index(int32_t body, size_t from);
  BodyIndex::Box box_of(int32_t storage) const;
  void frame_again(std::vector<int32_t>* bodies);
  Frame frame_of(int32_t body) const;
  Frame frame_of_storage(int32_t storage) const;
  static Frame joined(const Frame& a, const Frame& b, int64_t b_moved_by);
  static bool to_place(const Frame& frame, BodyPlace* place);
  bool collide(int32_t a, int32_t b) const;
  bool excused(int32_t a, int32_t b) const;
  int64_t alignment_of(int32_t storage) const;
  void undo();

  const Problem& problem_;
  std::vector<bool> taken_;
  std::vector<Member> members_;
  std::vector<std::vector<int32_t>> bodies_;
  std::vector<std::vector<int32_t>> merges_of_;  // of each storage: the merges that name it
  std::vector<int64_t> moved_alignments_;        // of each storage: the largest of the taken merges that move it, or 0
  std::vector<Frame> frames_;                    // of each body
  std::map<int32_t, BodyIndex> indices_;         // of large bodies; made when first asked
  std::vector<Joined> log_;                      // of the unit that is being taken
};

}  // namespace berth::plan
