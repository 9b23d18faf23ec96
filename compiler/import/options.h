// What every importer may be told.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace berth {

struct ImportOptions {
  /// Shapes of inputs by name, as `--input-shape` gives them: "1x3x224x224". A dimension may be a range, "1..8", which
  /// makes it a symbol. Needed for inputs with symbolic dimensions; must agree with those that the model fixes.
  std::vector<std::pair<std::string, std::string>> input_shapes;
  /// For programs whose constants lie beside them: the data files (.ptd). Empty: the file beside the program that has
  /// its name, with the extension .ptd, if the program needs one.
  std::vector<std::string> data_files;
};

}  // namespace berth
