// The page of `berth report`: a self-contained HTML file with the memory plan over time.
#pragma once

#include <string>

#include "tools/tool.h"

namespace berth::tool {

/// `data`: {"files": [{"path", "bytes", "methods": [{"name", "steps": [text], "arenas": [{"id", "device", "bytes",
/// "lower_bound" or null, "proven", "peak_step", "peak_bytes", "values": [{"name", "node", "type", "role", "relation",
/// "base", "index", "offset", "bytes", "first", "last"}]}]}]}]}, one or two files. Any text is safe in it.
std::string report_page(const Json& data);

}  // namespace berth::tool
