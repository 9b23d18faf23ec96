#include "runtime/log.h"

#include <cstdarg>
#include <cstdio>

namespace berth {
namespace {

LogFunction log_function = nullptr;
void* log_context = nullptr;

}  // namespace

void set_log(LogFunction function, void* context) {
  log_function = function;
  log_context = context;
}

void log_message(LogLevel level, const char* format, ...) {
  if (log_function == nullptr) return;
  char text[401];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  log_function(log_context, level, text);
}

}  // namespace berth
