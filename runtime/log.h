// The log hook: where the runtime says in words what an error code cannot.
//
// Without a hook nothing is printed. The text is made on the stack, never on the heap.
#pragma once

namespace berth {

enum class LogLevel { kInfo, kWarning, kError };

/// `text` lives until the call returns; it has no newline at its end. May be called from any thread that calls the
/// runtime, several at a time.
using LogFunction = void (*)(void* context, LogLevel level, const char* text);

/// Sets the hook of the whole process; null removes it. Not while another thread is inside the runtime. `context` is
/// handed to each call and must live as long as the hook stays.
void set_log(LogFunction function, void* context);

/// Formats as printf does, cuts at 400 characters, and hands the text to the hook.
[[gnu::format(printf, 2, 3)]] void log_message(LogLevel level, const char* format, ...);

}  // namespace berth
