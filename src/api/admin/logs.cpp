// GET logs: the latest lines of the server's log, or of the output of a model's latest process (?model=). With
// ?follow=true, server-sent events that continue with each further line.
//
//   lines   {"lines":[…]}, and "process" for a model; "missed": number of lines of the server's log that a slow reader
//           has lost
//
// Readers share the stored lines and the files: each has only its place in them, so it can't grow memory. It looks for
// lines after events of models, and twice a second; the end of these events at a shutdown ends it, too.
#include <limits>

#include "api/access/admission.h"
#include "api/admin/routes.h"
#include "api/base/core_routes.h"
#include "api/base/query.h"
#include "api/base/reader_places.h"
#include "api/files/find_model.h"
#include "base/log.h"
#include "dialects/error_filter.h"
#include "http/sse.h"
#include "json/writer.h"
#include "proc/log_reader.h"

namespace corral::api {
namespace {

constexpr std::int64_t kUsualLogLines = 200, kMaxLogLines = 1000;
constexpr Millis kLogKeepAlive{15'000};
constexpr Millis kLogInterval{500};
constexpr Millis kShortestLogInterval{100};

struct LogLines {
  std::string process = {};  // of a model: "engine-3"
  std::vector<std::string> lines;
  std::uint64_t missed = 0;
};

class LogSource {
 public:
  // Starts with the last `lines` lines. No model: the server's log.
  LogSource(AdminContext& context, std::optional<ModelName> model, std::size_t lines)
      : context_(context), model_(std::move(model)), first_lines_(lines) {}

  // Lines that follow; none: there are none yet.
  async::Task<LogLines> read() {
    if (model_) {
      auto reading = read_model();
      co_return co_await std::move(reading);
    }
    auto recent = log::recent_from(next_.value_or(0));
    auto& lines = recent.lines;
    if (!next_) {
      recent.missed = 0;
      if (lines.size() > first_lines_)
        lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(first_lines_));
    }
    next_ = recent.next;
    for (auto& line : lines) line.erase(line.find_last_not_of('\n') + 1);
    co_return LogLines{.lines = std::move(lines), .missed = recent.missed};
  }

 private:
  // A file may be long, or on a slow disk, so it is read on another thread; a read may outlive a caller that left.
  async::Task<std::vector<std::string>> read_file() {
    if (context_.bodies.threads == nullptr) co_return reader_->read();
    auto work = [reader = reader_] { return reader->read(); };
    co_return co_await context_.bodies.threads->run(std::move(work));
  }

  async::Task<LogLines> read_model() {
    LogLines found;
    // The last lines of a process come before those of the next one, of which none is left out.
    if (reader_) found.lines = co_await read_file();
    if (found.lines.empty()) {
      auto file = co_await context_.core.router.log_file(*model_);
      const bool other = !file.empty() && (!reader_ || reader_->path() != file);
      // It may have written more while the router was asked.
      if (other && reader_) found.lines = co_await read_file();
      if (other && found.lines.empty()) {
        const auto max = began_ ? std::numeric_limits<std::size_t>::max() : first_lines_;
        reader_ = std::make_shared<proc::LogReader>(std::move(file), max);
        found.lines = co_await read_file();
      }
      began_ = true;
    }
    if (reader_) found.process = reader_->path().stem().native();
    co_return found;
  }

  AdminContext& context_;
  const std::optional<ModelName> model_;
  const std::size_t first_lines_;
  std::optional<std::uint64_t> next_;
  std::shared_ptr<proc::LogReader> reader_;
  bool began_ = false;  // the first lines of a model have been read
};

class LogFeed final : public http::BodySource {
 public:
  LogFeed(AdminContext& context, std::shared_ptr<void> place, Admission admission, LogSource source)
      : context_(context),
        place_(std::move(place)),
        admission_(std::move(admission)),
        source_(std::move(source)),
        events_(context.core.router) {}

  async::Task<Result<std::string_view>> read() override {
    while (!ended_ && admission_.holds()) {
      // A steady flow of lines comes in few events.
      if (read_at_) co_await context_.core.timers.sleep_until(*read_at_ + kShortestLogInterval);
      const auto found = co_await source_.read();
      const auto now = context_.core.timers.now();
      read_at_ = now;
      // The first event comes at once, so that a client knows that there are no lines.
      if (!found.lines.empty() || found.missed > 0 || !last_sent_) {
        last_sent_ = now;
        co_return write(found);
      }
      if (now >= *last_sent_ + kLogKeepAlive) {
        last_sent_ = now;
        co_return http::kSsePing;
      }
      const auto update = co_await events_.next(kLogInterval);
      ended_ = update.ended;
    }
    co_return std::string_view();
  }

 private:
  std::string_view write(const LogLines& found) {
    std::string payload;
    json::Writer out(payload);
    out.begin_object();
    if (!found.process.empty()) out.field("process", found.process);
    out.key("lines").begin_array();
    for (const auto& line : found.lines) out.value(line);
    out.end_array();
    if (found.missed > 0) out.field("missed", found.missed);
    out.end_object();
    text_ = http::sse_event("lines", payload);
    return text_;
  }

  AdminContext& context_;
  const std::shared_ptr<void> place_;
  const Admission admission_;
  LogSource source_;
  router::EventReader events_;
  std::optional<MonoTime> read_at_;
  std::optional<MonoTime> last_sent_;
  std::string text_;
  bool ended_ = false;
};

async::Task<http::Response> read_logs(AdminContext& context, std::shared_ptr<ReaderPlaces> places,
                                      http::Request request) {
  const auto query = request.head.query();
  const auto count = query_number(query, "lines", 0, kMaxLogLines);
  if (!count) co_return dialects::error_response(count.error());
  const auto follow = query_flag(query, "follow");
  if (!follow) co_return dialects::error_response(follow.error());
  std::optional<ModelName> model;
  if (auto name = http::query_value(query, "model"); name && !name->empty()) {
    const auto found = co_await find_own_model(context.files, std::move(*name));
    if (!found) co_return dialects::error_response(found.error());
    model = (*found)->name;
  }
  LogSource source(context, std::move(model), static_cast<std::size_t>(count->value_or(kUsualLogLines)));
  if (*follow) {
    auto place = ReaderPlaces::take(places);
    if (!place) co_return dialects::error_response(place.error());
    Admission admission(context.access.keys, request.caller.key);
    co_return http::Response::event_stream(
        std::make_unique<LogFeed>(context, std::move(*place), std::move(admission), std::move(source)));
  }
  const auto found = co_await source.read();
  std::string text;
  for (const auto& line : found.lines) text.append(line).append("\n");
  co_return http::Response::text(200, "text/plain; charset=utf-8", std::move(text));
}

}  // namespace

void add_logs(std::vector<http::Route>& routes, AdminContext& context) {
  const auto places = std::make_shared<ReaderPlaces>(context.max_event_readers);
  add_core(routes, "GET", "logs", [&context, places](http::Request request, http::PathParams) {
    return read_logs(context, places, std::move(request));
  });
}

}  // namespace corral::api
