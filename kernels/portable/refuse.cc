// refuse: stands where a branch of the model cannot run with the sizes that the model was compiled for. `why` is for
// who reads the program; a kernel's message has no end that a program's text could mark.
#include "kernels/portable/portable.h"

namespace berth::portable {

Error refuse_out(KernelContext& context, const arguments::refuse_out&) {
  return context.fail(Error::kInvalidArgument,
                      "the branch that was taken cannot run with the sizes that the model was compiled for; "
                      "`berth inspect` shows why");
}

}  // namespace berth::portable
