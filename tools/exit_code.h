// Exit codes of `berth`. They are a contract: 0 done, 1 our failure, 2 the input's or the usage's fault.
#pragma once

namespace berth::tool {

constexpr int kDone = 0;
constexpr int kOurFault = 1;
constexpr int kYourFault = 2;

}  // namespace berth::tool
