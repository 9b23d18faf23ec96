#include "compiler/import/pt2/operators.h"
namespace berth::pt2 {
OperatorTable reduce_operators() { return {}; }
}  // namespace berth::pt2
