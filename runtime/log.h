// The log hook, which receives the messages of the runtime as text.
//
// Without a hook nothing is printed. Messages are formatted on the stack, not on the heap.
#pragma once

namespace berth {

enum class LogLevel { kInfo, kWarning, kError };

/// `text` is valid until the call returns and has no final newline. May be called from several threads at once.
using LogFunction = void (*)(void* context, LogLevel level, const char* text);

/// Sets the hook of the process; null removes it. Must not be called while another thread uses the runtime. `context`
/// is passed to each call and must outlive the hook.
void set_log(LogFunction function, void* context);

/// Formats like printf, truncates to 400 characters, and calls the hook.
[[gnu::format(printf, 2, 3)]] void log_message(LogLevel level, const char* format, ...);

}  // namespace berth
