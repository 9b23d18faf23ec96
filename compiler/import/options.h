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
  /// makes it a symbol, or a name. Needed for inputs with symbolic dimensions that `where` does not bound; must agree
  /// with those that the model fixes.
  std::vector<std::pair<std::string, std::string>> input_shapes;
  /// Ranges of sizes by name, and relations between them, as `--where` gives them: "H=32..512", "H%32==0", "T+P<=512"
  /// (compiler/import/lowering/named_sizes.h). A size has the name that the model gives it, or `input_shapes` in place
  /// of a number: "1x3xHxW".
  std::vector<std::string> where;
  /// The data files (.ptd) of a program that does not contain its constants. If empty and the program needs one, the
  /// file in the same folder with the program's name and the extension .ptd.
  std::vector<std::string> data_files;
  /// Operators of one's own that the model may have (compiler/ir/own_operators.h); null: none.
  std::shared_ptr<const ir::OperatorSet> operators;
};

}  // namespace berth
