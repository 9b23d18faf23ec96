// Extents: shapes in the syntax of `--input-shape`, "1..8x3x224x224".
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace berth::lowering {

// Sizes are 32-bit in program files.
constexpr int64_t kMaxExtent = INT32_MAX;

/// A dimension of `--input-shape`: lower == upper for a number.
struct Extent {
  int64_t lower = 0;
  int64_t upper = 0;
  std::string name = {};  // instead: what `--where` calls it
};

/// Parses "1..8x3x224xW"; the empty string is a scalar's shape. Names are identifiers; those that have an x stand in
/// `known`, out of which the longest that fits is taken. False for other text.
bool parse_extents(std::string_view text, std::vector<Extent>* out, const std::set<std::string>& known = {});

/// The same for a shape of `rank` dimensions, at most kMaxRank: of the ways to split `text` into as many, one whose
/// names are all in `known`, else one with new names, which have no x. Long names come first. False when there is no
/// such way.
bool parse_extents_of_rank(std::string_view text, size_t rank, const std::set<std::string>& known,
                           std::vector<Extent>* out);

/// "3", "1..8", or the name.
std::string text_of(const Extent& extent);

/// `name` as the IR's text writes symbols: an identifier.
std::string symbol_name(std::string_view name);

}  // namespace berth::lowering
