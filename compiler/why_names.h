// The words that CompileOptions::why, and so `--why`, understands.
#pragma once

#include <string>
#include <vector>

namespace berth {

/// "all"; "reuse", the memory planner's decisions; "fusion", those of all passes that fuse; and the name of each pass,
/// in the order in which compile() first runs it.
std::vector<std::string> why_names();

}  // namespace berth
