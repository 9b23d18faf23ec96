#include "runtime/host/chrome_trace.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <thread>

namespace berth {
namespace {

// Names of operators and methods come from files: anything may be in them.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", byte);
      out += code;
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

const char* category(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::kLoad: return "load";
    case Event::Kind::kRun: return "run";
    case Event::Kind::kInstruction: return "instruction";
    case Event::Kind::kCopy: return "copy";
    case Event::Kind::kMemory: return "memory";
  }
  return "event";
}

std::string arguments(const Event& event, const std::string& method) {
  std::string out = "\"method\":" + quoted(method);
  if (event.kind == Event::Kind::kInstruction || event.index > 0) out += ",\"index\":" + std::to_string(event.index);
  if (event.kind == Event::Kind::kCopy) out += ",\"from\":" + quoted(to_text(event.source).text);
  if (event.kind == Event::Kind::kCopy || event.kind == Event::Kind::kMemory) {
    out += ",\"device\":" + quoted(to_text(event.device).text) + ",\"bytes\":" + std::to_string(event.bytes);
  }
  if (event.kind == Event::Kind::kMemory) out += event.phase == Event::Phase::kBegin ? ",\"taken\":1" : ",\"taken\":0";
  if (event.result != Error::kOk) out += ",\"error\":" + quoted(to_string(event.result));
  return out;
}

}  // namespace

void ChromeTrace::event(const Event& event) {
  const uint64_t self = std::hash<std::thread::id>()(std::this_thread::get_id());
  const std::lock_guard<std::mutex> lock(mutex_);
  if (kept_.size() >= kMost) {
    ++dropped_;
    return;
  }
  auto found = std::find(threads_.begin(), threads_.end(), self);
  if (found == threads_.end()) found = threads_.insert(threads_.end(), self);
  kept_.push_back({event, event.method, event.name, static_cast<size_t>(found - threads_.begin()) + 1});
}

size_t ChromeTrace::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return kept_.size();
}

std::string ChromeTrace::json() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string out = "{\"traceEvents\":[";
  const uint64_t start = kept_.empty() ? 0 : kept_.front().event.nanoseconds;
  for (const Kept& one : kept_) {
    const Event& event = one.event;
    const bool instant = event.kind == Event::Kind::kMemory;
    const uint64_t since = event.nanoseconds - std::min(start, event.nanoseconds);
    char time[48];
    std::snprintf(time, sizeof time, "%" PRIu64 ".%03u", since / 1000, static_cast<unsigned>(since % 1000));
    out += out.back() == '[' ? "" : ",";
    out += "{\"name\":" + quoted(one.name) + ",\"cat\":\"" + category(event.kind) + "\",\"ph\":\"" +
           (instant                               ? "i\",\"s\":\"t"
            : event.phase == Event::Phase::kBegin ? "B"
                                                  : "E") +
           "\",\"ts\":" + time + ",\"pid\":1,\"tid\":" + std::to_string(one.thread) + ",\"args\":{" +
           arguments(event, one.method) + "}}";
  }
  return out + "],\"displayTimeUnit\":\"ms\",\"otherData\":{\"dropped\":" + std::to_string(dropped_) + "}}";
}

}  // namespace berth
