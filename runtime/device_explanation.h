// What a device knows about an error that it returns, such as which index a kernel found out of range: a sentence for
// the caller of its allocator or backend.
//
// Kept for the thread, so that no interface of devices has it. No heap; thread-safe.
#pragma once

namespace berth {

/// For devices: why the call that returns an error next does. Replaces what was said before; longer texts are cut after
/// 191 characters.
void explain_error(const char* sentence);

/// For their callers, behind a call that returned an error: the sentence, valid until the thread's next one, or null.
/// There is none when asked again, so that asking before a call forgets what other calls have said.
const char* take_explanation();

}  // namespace berth
