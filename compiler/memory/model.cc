#include "compiler/memory/model.h"

namespace berth::memory {

const char* to_string(ViewReason reason) {
  switch (reason) {
    case ViewReason::kView: return "view";
    case ViewReason::kSizesChange: return "sizes-change";
    case ViewReason::kCallersMemory: return "callers-memory";
    case ViewReason::kNotAView: return "not-a-view";
    case ViewReason::kOrderDiffers: return "order-differs";
    case ViewReason::kOtherDevice: return "other-device";
    case ViewReason::kOutputOfInput: return "output-of-input";
    case ViewReason::kOutputOfConstant: return "output-of-constant";
    case ViewReason::kOutputOfState: return "output-of-state";
    case ViewReason::kCallersOutput: return "callers-output";
    case ViewReason::kConstantOfSymbols: return "constant-of-symbols";
    case ViewReason::kStateOfSymbols: return "state-of-symbols";
    case ViewReason::kScratchOfSymbols: return "scratch-of-symbols";
    case ViewReason::kOff: return "off";
  }
  return "unknown";
}

IdVector<BufferId, bool> Buffers::are_states() const {
  IdVector<BufferId, bool> are(all.size(), false);
  for (const BufferId buffer : states) {
    if (buffer.valid()) are[buffer] = true;
  }
  return are;
}

}  // namespace berth::memory
