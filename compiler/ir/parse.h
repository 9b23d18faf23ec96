// Reads the text form of the IR (docs/ir.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/failure.h"
#include "compiler/ir/module.h"

namespace berth::ir {

/// Parses `text`; failures name the line as "NAME:LINE". Types of results are checked against the shape rules. Files
/// that constants name must lie below `directory` after links are resolved (empty: no files are allowed). `operators`
/// are those that it may name beside the table's; null: none.
Expected<Module> parse(std::string_view text, const std::string& name = "ir", const std::string& directory = {},
                       std::shared_ptr<const OperatorSet> operators = nullptr);

}  // namespace berth::ir
