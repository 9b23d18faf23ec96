// Options common to all importers.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace berth {

struct ImportOptions {
  /// Shapes of inputs by name, as `--input-shape` gives them: "1x3x224x224". A dimension may be a range, "1..8", which
  /// makes it a symbol. Needed for inputs with symbolic dimensions; must agree with those that the model fixes.
  std::vector<std::pair<std::string, std::string>> input_shapes;
  /// The data files (.ptd) of a program that does not contain its constants. If empty and the program needs one, the
  /// file in the same folder with the program's name and the extension .ptd.
  std::vector<std::string> data_files;
};

}  // namespace berth
