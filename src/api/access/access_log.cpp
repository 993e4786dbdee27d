#include "api/access/access_log.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "models/text.h"

namespace corral::api {
namespace {

constexpr int kMaxRejections = 10;  // lines a second
constexpr std::size_t kMaxShown = 200;

bool is_rejection(unsigned status) { return status == 401 || status == 403 || status == 429; }

// What a client wrote.
std::string client_text(std::string_view text) { return models::printable(text, kMaxShown); }

}  // namespace

std::string access_line(const AccessRecord& record, MonoTime now) {
  std::string line = fmt::format("{} {} ", client_text(record.method), client_text(record.path));
  const auto out = std::back_inserter(line);
  if (record.status == 0) {
    fmt::format_to(out, "client disconnected");
  } else {
    fmt::format_to(out, "{}", record.status);
  }
  fmt::format_to(out, ", {} ms, from {}", std::chrono::duration_cast<Millis>(now - record.begin).count(), record.peer);
  if (!record.key.empty()) fmt::format_to(out, ", key {}", record.key);
  if (!record.id.empty()) fmt::format_to(out, ", request {}", client_text(record.id));
  if (!record.reason.empty()) fmt::format_to(out, ": {}", client_text(record.reason));
  return line;
}

void AccessLog::write(const AccessRecord& record) {
  const auto now = clock_.now();
  std::uint64_t dropped = 0;
  if (!is_rejection(record.status) || !may_write_rejection(dropped)) {
    if (log::enabled(log::Level::debug)) log::write(log::Level::debug, "access", access_line(record, now));
    return;
  }
  if (dropped > 0) log::info("access", "{} more rejected requests, not listed", dropped);
  log::write(log::Level::info, "access", access_line(record, now));
}

bool AccessLog::may_write_rejection(std::uint64_t& dropped) {
  const MutexLock lock(mutex_);
  const auto now = clock_.now();
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    rejections_ = 0;
  }
  if (rejections_ == kMaxRejections) {
    ++dropped_;
    return false;
  }
  ++rejections_;
  dropped = std::exchange(dropped_, 0);
  return true;
}

AccessEntry::AccessEntry(AccessLog& log, const http::Request& request, MonoTime now)
    : log_(log), wanted_(log::enabled(log::Level::info)) {
  if (!wanted_) return;
  record_ = {.method = request.head.method,
             .path = std::string(request.head.path()),
             .peer = request.peer,
             .key = {},
             .id = request.id.value(),
             .begin = now,
             .reason = {}};
}

AccessEntry::~AccessEntry() {
  if (wanted_) log_.write(record_);
}

void AccessEntry::set_response(const http::Response& response) {
  record_.status = response.head.status;
  if (response.failure != nullptr) record_.reason = response.failure->message;
}

}  // namespace corral::api
