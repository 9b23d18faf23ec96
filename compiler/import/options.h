// Options common to all importers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace berth {
namespace ir {
class OperatorSet;
}  // namespace ir

struct ImportOptions {
  /// Shapes of inputs by name, as `--input-shape` gives them: "1x3x224x224". A dimension may be a range, "1..8", which
  /// makes it a symbol. Needed for inputs with symbolic dimensions; must agree with those that the model fixes.
  std::vector<std::pair<std::string, std::string>> input_shapes;
  /// The data files (.ptd) of a program that does not contain its constants. If empty and the program needs one, the
  /// file in the same folder with the program's name and the extension .ptd.
  std::vector<std::string> data_files;
  /// Operators of one's own that the model may have (compiler/ir/own_operators.h); null: none.
  std::shared_ptr<const ir::OperatorSet> operators;
};

}  // namespace berth
