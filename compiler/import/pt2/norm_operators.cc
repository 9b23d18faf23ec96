#include "compiler/import/pt2/operators.h"
namespace berth::pt2 {
OperatorTable norm_operators() { return {}; }
}  // namespace berth::pt2
