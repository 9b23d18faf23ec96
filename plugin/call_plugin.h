// call_plugin: an exception does not cross the C interface of plug-ins, in either direction.
#pragma once

#include <cstdio>
#include <exception>

#include "plugin/plugin.h"

namespace berth {

/// Calls `call`, which returns a code of plugin/plugin.h. Where it throws, although it must not: BERTH_INTERNAL, and a
/// sentence in `message`, which may be null. Without exceptions (-fno-exceptions) a plain call.
template <typename Call>
int32_t call_plugin(berth_message* message, Call&& call) {
#if defined(__cpp_exceptions)
  const auto say = [&](const char* what) {
    if (message != nullptr)
      std::snprintf(message->text, sizeof message->text, "the plug-in threw an exception: %s", what);
    return static_cast<int32_t>(BERTH_INTERNAL);
  };
  try {
    return call();
  } catch (const std::exception& error) {
    return say(error.what());
  } catch (...) {
    return say("of an unknown kind");
  }
#else
  static_cast<void>(message);
  return call();
#endif
}

}  // namespace berth
