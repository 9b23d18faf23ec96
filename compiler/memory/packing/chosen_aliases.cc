#include "compiler/memory/packing/chosen_aliases.h"

#include <algorithm>
#include <limits>
#include <map>

namespace berth::packing {
namespace {

/// Smaller bodies are compared pair by pair.
constexpr size_t kFewBuffersOfABody = 16;

}  // namespace

std::vector<CandidateGroup> candidate_groups(const Problem& problem) {
  std::vector<CandidateGroup> groups;
  std::map<int32_t, size_t> group_of_number;
  for (size_t i = 0; i < problem.candidates.size(); ++i) {
    const int32_t number = problem.candidates[i].all_or_none;
    const auto [it, is_new] = group_of_number.emplace(number, groups.size());
    if (number == kAlone || is_new) {
      groups.push_back({static_cast<int32_t>(i)});
    } else {
      groups[it->second].push_back(static_cast<int32_t>(i));
    }
  }
  return groups;
}

ChosenAliases::ChosenAliases(const Problem& problem)
    : problem_(problem), taken_(problem.candidates.size(), false), moved_alignments_(problem.buffers.size(), 0) {
  in_body_.resize(problem.buffers.size());
  bodies_.resize(problem.buffers.size());
  candidates_of_.resize(problem.buffers.size());
  for (size_t i = 0; i < in_body_.size(); ++i) {
    in_body_[i].body = static_cast<int32_t>(i);
    bodies_[i].push_back(static_cast<int32_t>(i));
    constraints_.push_back(constraints_of_buffer(static_cast<int32_t>(i)));
  }
  for (size_t i = 0; i < problem.candidates.size(); ++i) {
    candidates_of_[problem.candidates[i].from].push_back(static_cast<int32_t>(i));
    candidates_of_[problem.candidates[i].to].push_back(static_cast<int32_t>(i));
  }
}

bool ChosenAliases::take(const CandidateGroup& group) {
  for (const int32_t id : group) {
    if (taken_[id]) return false;
  }
  log_.clear();
  std::vector<std::pair<int32_t, int64_t>> alignments;  // before
  std::vector<int32_t> changed;                         // bodies, whose constraints change
  for (const int32_t id : group) {
    const Candidate& candidate = problem_.candidates[id];
    int64_t& moved = moved_alignments_[candidate.from];
    const int64_t own = problem_.buffers[candidate.from].alignment;
    const int64_t before = alignment_of(candidate.from);
    alignments.emplace_back(candidate.from, moved);
    taken_[id] = true;
    moved = std::max(moved, candidate.alignment > 0 ? candidate.alignment : own);
    if (alignment_of(candidate.from) != before) changed.push_back(in_body(candidate.from).body);
  }
  constrain_again(&changed);
  bool fits = true;
  for (const int32_t id : group) fits = fits && tie(problem_.candidates[id]);
  for (const int32_t body : bodies_of(group)) fits = fits && constraints_[body].offsets().has_value();
  if (fits) return true;
  undo();
  for (const int32_t id : group) taken_[id] = false;
  for (; !alignments.empty(); alignments.pop_back()) {
    moved_alignments_[alignments.back().first] = alignments.back().second;
  }
  constrain_again(&changed);
  return false;
}

/// Of each of these bodies once: a group may change many buffers of one.
void ChosenAliases::constrain_again(std::vector<int32_t>* bodies) {
  std::sort(bodies->begin(), bodies->end());
  bodies->erase(std::unique(bodies->begin(), bodies->end()), bodies->end());
  for (const int32_t body : *bodies) constraints_[body] = constraints_of(body);
}

std::vector<int32_t> ChosenAliases::bodies_of(const CandidateGroup& group) const {
  std::vector<int32_t> bodies;
  for (const int32_t id : group) bodies.push_back(in_body(problem_.candidates[id].from).body);
  std::sort(bodies.begin(), bodies.end());
  bodies.erase(std::unique(bodies.begin(), bodies.end()), bodies.end());
  return bodies;
}

bool ChosenAliases::tie(const Candidate& candidate) {
  const InBody from = in_body(candidate.from);
  const InBody to = in_body(candidate.to);
  if (from.body == to.body) return from.shift == to.shift + candidate.offset;
  // All of the smaller body move into the larger.
  const bool keep_to = buffers_of(to.body).size() >= buffers_of(from.body).size();
  const int32_t kept = keep_to ? to.body : from.body;
  const int32_t gone = keep_to ? from.body : to.body;
  const int64_t distance = to.shift + candidate.offset - from.shift;  // from's body beginning, seen from to's
  std::vector<int32_t>& stay = bodies_[kept];
  std::vector<int32_t>& move = bodies_[gone];
  const size_t kept_size = stay.size();
  const int64_t moved_by = keep_to ? distance : -distance;
  for (const int32_t buffer : move) {
    in_body_[buffer].body = kept;
    in_body_[buffer].shift += moved_by;
    stay.push_back(buffer);
  }
  BodyConstraints& constraints = constraints_[kept];
  log_.push_back({kept, gone, kept_size, moved_by, constraints});
  constraints = constraints.joined(constraints_[gone], moved_by);
  const bool fits = !any_collide_with(move, kept, kept_size);
  if (indices_.count(kept) != 0) add_to_index(kept, kept_size);
  return fits;
}

OverlapIndex::Extent ChosenAliases::extent_of(int32_t buffer) const {
  const Buffer& b = problem_.buffers[buffer];
  int64_t life = 0;
  if (__builtin_sub_overflow(b.upper, b.lower, &life)) life = std::numeric_limits<int64_t>::max();
  return {in_body(buffer).shift, b.size, b.lower, life};
}

/// The buffers of `body` from the given one on.
void ChosenAliases::add_to_index(int32_t body, size_t from) {
  OverlapIndex& index = indices_[body];
  const std::vector<int32_t>& buffers = buffers_of(body);
  for (size_t k = from; k < buffers.size(); ++k) index.add(extent_of(buffers[k]), buffers[k]);
}

bool ChosenAliases::any_collide_with(const std::vector<int32_t>& move, int32_t kept, size_t kept_size) {
  const std::vector<int32_t>& stay = buffers_of(kept);
  const auto indexed = indices_.find(kept);
  for (const int32_t buffer : move) {
    const auto wrong = [&](int32_t other) { return collide(buffer, other); };
    if (indexed != indices_.end() && indexed->second.any(extent_of(buffer), wrong)) return true;
    if (indexed != indices_.end()) continue;
    if (std::any_of(stay.begin(), stay.begin() + static_cast<std::ptrdiff_t>(kept_size), wrong)) return true;
  }
  if (indexed == indices_.end() && kept_size >= kFewBuffersOfABody) {
    indices_.emplace(kept, OverlapIndex());
    for (size_t k = 0; k < kept_size; ++k) indices_[kept].add(extent_of(stay[k]), stay[k]);
  }
  return false;
}

void ChosenAliases::undo() {
  for (; !log_.empty(); log_.pop_back()) {
    const Joined& joined = log_.back();
    const auto indexed = indices_.find(joined.kept);
    constraints_[joined.kept] = joined.kept_constraints;
    for (const int32_t buffer : bodies_[joined.gone]) {
      if (indexed != indices_.end()) indexed->second.remove(extent_of(buffer), buffer);
      in_body_[buffer].body = joined.gone;
      in_body_[buffer].shift -= joined.moved_by;
    }
    bodies_[joined.kept].resize(joined.kept_size);
  }
}

bool ChosenAliases::collide(int32_t a, int32_t b) const {
  const Buffer& x = problem_.buffers[a];
  const Buffer& y = problem_.buffers[b];
  if (x.upper <= y.lower || y.upper <= x.lower || x.size == 0 || y.size == 0) return false;
  const int64_t at_x = in_body(a).shift;
  const int64_t at_y = in_body(b).shift;
  return at_x < at_y + y.size && at_y < at_x + x.size && !excused(a, b);
}

bool ChosenAliases::excused(int32_t a, int32_t b) const {
  const bool fewer = candidates_of_[a].size() <= candidates_of_[b].size();
  const int32_t other = fewer ? b : a;
  for (const int32_t id : candidates_of_[fewer ? a : b]) {
    const Candidate& candidate = problem_.candidates[id];
    if (taken_[id] && (candidate.from == other || candidate.to == other)) return true;
  }
  return false;
}

int64_t ChosenAliases::alignment_of(int32_t buffer) const {
  const int64_t moved = moved_alignments_[buffer];
  return moved > 0 ? moved : problem_.buffers[buffer].alignment;
}

BodyConstraints ChosenAliases::constraints_of_buffer(int32_t buffer) const {
  return BodyConstraints::of_buffer(alignment_of(buffer), in_body(buffer).shift, problem_.buffers[buffer].fixed);
}

BodyConstraints ChosenAliases::constraints_of(int32_t body) const {
  const std::vector<int32_t>& buffers = buffers_of(body);
  BodyConstraints constraints = constraints_of_buffer(buffers[0]);
  for (size_t k = 1; k < buffers.size(); ++k) constraints = constraints.joined(constraints_of_buffer(buffers[k]), 0);
  return constraints;
}

}  // namespace berth::packing
