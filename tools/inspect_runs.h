// berth inspect of a record of runs (.etdp).
#pragma once

#include <string>

#include "base/mapped_file.h"
#include "tools/tool.h"

namespace berth::tool {

/// Prints what the record at `path` says, as text or as one JSON object. Errors as read_run_record().
Expected<std::string> inspect_runs(const std::string& path, const MappedFile& file, bool json);

}  // namespace berth::tool
