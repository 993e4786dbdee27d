#include "engine/llama/llama_log.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llama.h>

#include "base/log.h"
#include "base/mutex.h"

namespace corral::engine {
namespace {

// State of libllama's one log. A function-local static, never destroyed before libllama's last line.
struct LogRouter {
  Mutex mutex;
  std::string partial GUARDED_BY(mutex);
  log::Level partial_level GUARDED_BY(mutex) = log::Level::debug;
  bool partial_bad GUARDED_BY(mutex) = false;
  std::vector<LogCapture*> captures GUARDED_BY(mutex);
};

LogRouter& router() {
  static auto* const instance = new LogRouter;
  return *instance;
}

// Such lines end with bytes of the file.
constexpr std::string_view kBytesFollow = "invalid magic characters";

void route_line(LogRouter& r, std::string line) REQUIRES(r.mutex) {
  if (line.empty()) return;
  if (const auto at = line.find(kBytesFollow); at != std::string::npos) line.resize(at + kBytesFollow.size());
  log::write(r.partial_level, "llama", line);
  if (r.partial_bad) {
    for (LogCapture* capture : r.captures) capture->add(line, r.partial_level == log::Level::info);
  }
}

void on_log(ggml_log_level level, const char* text, void*) {
  LogRouter& r = router();
  const MutexLock lock(r.mutex);
  if (level != GGML_LOG_LEVEL_CONT) {
    // Failures reach the caller as an Error; the log line has further details.
    r.partial_bad = level == GGML_LOG_LEVEL_ERROR || level == GGML_LOG_LEVEL_WARN;
    r.partial_level = level == GGML_LOG_LEVEL_ERROR ? log::Level::info : log::Level::debug;
  }
  if (!r.partial_bad && !log::enabled(r.partial_level)) return;
  r.partial += text;
  for (std::size_t end; (end = r.partial.find('\n')) != std::string::npos;) {
    route_line(r, r.partial.substr(0, end));
    r.partial.erase(0, end + 1);
  }
}

}  // namespace

void install_llama_log() { llama_log_set(on_log, nullptr); }

LogCapture::LogCapture() {
  const MutexLock lock(router().mutex);
  router().captures.push_back(this);
}

LogCapture::~LogCapture() {
  const MutexLock lock(router().mutex);
  std::erase(router().captures, this);
}

void LogCapture::add(std::string line, bool error) {
  const MutexLock lock(mutex_);
  auto& lines = error ? errors_ : warnings_;
  lines.push_back(std::move(line));
  if (lines.size() > kKept) lines.erase(lines.begin());
}

std::string LogCapture::text() const {
  const MutexLock lock(mutex_);
  return fmt::format("{}", fmt::join(errors_.empty() ? warnings_ : errors_, "; "));
}

std::string LogCapture::text_or(std::string_view otherwise) const {
  std::string lines = text();
  return lines.empty() ? std::string(otherwise) : lines;
}

bool LogCapture::speaks_of_memory() const {
  static constexpr std::string_view kWords[] = {"failed to allocate", "unable to allocate", "out of memory",
                                                "bad_alloc"};
  const MutexLock lock(mutex_);
  const auto speaks = [](const std::string& line) {
    return std::ranges::any_of(kWords, [&](std::string_view words) { return line.contains(words); });
  };
  return std::ranges::any_of(errors_, speaks) || std::ranges::any_of(warnings_, speaks);
}

}  // namespace corral::engine
