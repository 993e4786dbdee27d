// GET events: changes of models in memory. First comes a snapshot with health's members, then one event for each
// change; a reader that is too slow gets another snapshot.
//
//   snapshot   all members of health about models
//   server     an instance changed its state or its number of requests
//   load       started, progress, finished, failed or aborted
//   queue      the whole load queue
//   pin        a model was pinned or unpinned
//   settings   limits changed
//   shutdown   the last event
//   others     events of other parts of the program, by their names (router/core/event_source.h); a snapshot has a
//              member of that name
//
// At most max_event_readers at once: a reader costs little memory, but each change is written for each of them.
//
// ?view=snapshots sends snapshots only: after changes, at most ten a second, and one each second in any case, for
// clients that always show the whole state.
#include "api/access/admission.h"
#include "api/admin/health.h"
#include "api/admin/routes.h"
#include "api/base/core_routes.h"
#include "api/base/errors.h"
#include "api/base/reader_places.h"
#include "dialects/error_filter.h"
#include "http/sse.h"
#include "residency/instance_state.h"

namespace corral::api {
namespace {

// Sends a comment after this time without an event, so that no proxy drops the connection.
constexpr Millis kKeepAlive{15'000};
constexpr Millis kSnapshotInterval{1'000};
constexpr Millis kShortestInterval{100};

// Writes the members of one event into an open object and returns its name.
struct EventWriter {
  json::Writer& out;
  WallTime time;

  std::string_view operator()(const router::InstanceChanged& moved) const {
    out.field("model", moved.spec->name.value()).field("type", name_of(moved.spec->type));
    out.field("from", residency::name_of(moved.from)).field("status", residency::name_of(moved.to));
    if (moved.reason != residency::StopReason::none) out.field("reason", residency::name_of(moved.reason));
    if (!moved.cause.empty()) out.field("cause", moved.cause);
    out.field("active_requests", moved.requests).field("pinned", moved.pinned);
    if (residency::is_resident(moved.to)) write_idle_outlook(out, moved.idle_next, time);
    return "server";
  }
  std::string_view operator()(const router::LoadChanged& moved) const {
    out.field("model", moved.spec->name.value()).field("type", name_of(moved.spec->type));
    out.field("stage", name_of(moved.stage)).field("attempt", moved.attempt).field("progress", moved.progress);
    if (moved.stage == router::LoadStage::finished) out.field("load_duration_ms", moved.took.count());
    if (moved.stage == router::LoadStage::aborted) out.field("reason", residency::name_of(moved.reason));
    if (moved.error) out.field("code", moved.error->code.message()).field("cause", moved.error->message);
    return "load";
  }
  std::string_view operator()(const router::QueueChanged& moved) const {
    write_queue(out, moved.queue);
    return "queue";
  }
  std::string_view operator()(const router::PinUpdated& moved) const {
    out.field("model", moved.model.value()).field("pinned", moved.pinned);
    return "pin";
  }
  std::string_view operator()(const router::SettingsChanged& moved) const {
    write_limits(out, moved.settings.limits);
    return "settings";
  }
  std::string_view operator()(const router::RouterClosed&) const { return "shutdown"; }
  std::string_view operator()(const router::NoticePtr& notice) const {
    notice->write(out);
    return notice->name();
  }
};

void append_snapshot(std::string& text, const AdminContext& context, const router::Update& update) {
  std::string payload;
  json::Writer out(payload);
  out.begin_object().field("time", epoch_millis(context.core.timers.wall_now()));
  write_residency(out, *update.whole);
  for (const auto& other : update.others) {
    out.key(other->name()).begin_object();
    other->write(out);
    out.end_object();
  }
  out.end_object();
  http::append_sse_event(text, update.number, "snapshot", payload);
}

class EventFeed final : public http::BodySource {
 public:
  EventFeed(AdminContext& context, std::shared_ptr<void> place, Admission admission)
      : context_(context), place_(std::move(place)), admission_(std::move(admission)), reader_(context.core.router) {}

  async::Task<Result<std::string_view>> read() override {
    text_.clear();
    if (ended_) co_return std::string_view();
    const auto update = co_await reader_.next(kKeepAlive);
    ended_ = update.ended || !admission_.holds();
    if (!admission_.holds()) co_return std::string_view();
    if (update.whole) append_snapshot(text_, context_, update);
    for (const auto& event : update.events) append(*event);
    if (text_.empty() && !ended_) co_return http::kSsePing;
    co_return text_;
  }

 private:
  void append(const router::Event& event) {
    payload_.clear();
    json::Writer out(payload_);
    out.begin_object().field("time", epoch_millis(event.time));
    const std::string_view name = std::visit(EventWriter{out, event.time}, event.change);
    out.end_object();
    http::append_sse_event(text_, event.number, name, payload_);
  }

  AdminContext& context_;
  const std::shared_ptr<void> place_;
  const Admission admission_;
  router::EventReader reader_;
  std::string text_;
  std::string payload_;
  bool ended_ = false;
};

// Snapshots: after changes, and from time to time.
class SnapshotFeed final : public http::BodySource {
 public:
  SnapshotFeed(AdminContext& context, std::shared_ptr<void> place, Admission admission)
      : context_(context), place_(std::move(place)), admission_(std::move(admission)), reader_(context.core.router) {}

  async::Task<Result<std::string_view>> read() override {
    text_.clear();
    if (ended_) co_return text_;
    if (last_) co_await context_.core.timers.sleep_until(*last_ + kShortestInterval);
    auto update = co_await reader_.next(kSnapshotInterval);
    ended_ = update.ended || !admission_.holds();
    if (!admission_.holds()) co_return std::string_view();
    last_ = context_.core.timers.now();
    if (!update.whole) update.whole = co_await context_.core.router.report();
    append_snapshot(text_, context_, update);
    co_return text_;
  }

 private:
  AdminContext& context_;
  const std::shared_ptr<void> place_;
  const Admission admission_;
  router::EventReader reader_;
  std::optional<MonoTime> last_;
  std::string text_;
  bool ended_ = false;
};

async::Task<http::Response> events(AdminContext& context, std::shared_ptr<ReaderPlaces> places, http::Request request) {
  const auto view = http::query_value(request.head.query(), "view").value_or("changes");
  if (view != "changes" && view != "snapshots") {
    const Error error(make_error_code(errc::unknown_view), "'view' is 'changes' or 'snapshots', not '" + view + "'",
                      "view");
    co_return dialects::error_response(error);
  }
  auto place = ReaderPlaces::take(places);
  if (!place) co_return dialects::error_response(place.error());
  Admission admission(context.access.keys, std::move(request.caller.key));
  if (view == "changes") {
    co_return http::Response::event_stream(
        std::make_unique<EventFeed>(context, std::move(*place), std::move(admission)));
  }
  co_return http::Response::event_stream(
      std::make_unique<SnapshotFeed>(context, std::move(*place), std::move(admission)));
}

}  // namespace

void add_events(std::vector<http::Route>& routes, AdminContext& context) {
  const auto places = std::make_shared<ReaderPlaces>(context.max_event_readers);
  add_core(routes, "GET", "events", [&context, places](http::Request request, http::PathParams) {
    return events(context, places, std::move(request));
  });
}

}  // namespace corral::api
