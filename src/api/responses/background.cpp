#include "api/responses/background.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "api/base/errors.h"
#include "base/log.h"
#include "dialects/responses/kept_items.h"
#include "dialects/responses/response_translator.h"
#include "http/sse.h"
#include "protocol/http_error.h"

namespace corral::api {
namespace {

namespace responses = dialects::responses;

// Of events read at once.
constexpr std::size_t kEventPiece = 64 << 10;
// Silence after which a reader is pinged.
constexpr Millis kReaderPing{5'000};
// The end of an answer can't be predicted.
constexpr std::chrono::seconds kTryRunAgain{10};

std::unexpected<Error> too_many_runs(std::string message) {
  Error error(make_error_code(errc::too_many_requests), std::move(message));
  error.retry_after = kTryRunAgain;
  return std::unexpected(std::move(error));
}

}  // namespace

// On the home loop.
struct BackgroundResponses::Run {
  explicit Run(BackgroundWork the_work, async::Executor the_executor)
      : work(std::move(the_work)), executor(the_executor) {}

  // Wakes waiting readers.
  void changed() {
    const auto before = std::exchange(change_event, std::make_shared<async::Event>(executor));
    before->set();
  }
  // `text`: whole events, and comments.
  void add(std::string_view text, std::size_t max) {
    while (!text.empty()) {
      const auto end = std::min(text.find("\n\n"), text.size());
      const auto event = text.substr(0, std::min(end + 2, text.size()));
      text.remove_prefix(event.size());
      if (event.starts_with(':')) continue;
      events.emplace_back(event);
      event_bytes += event.size();
    }
    while (event_bytes > max && events.size() > 1) {
      event_bytes -= events.front().size();
      events.pop_front();
      ++first;
    }
    changed();
  }

  bool streams() const { return work.asked->about.stream; }

  BackgroundWork work;
  const async::Executor executor;
  std::string status{"queued"};
  std::string doc;  // empty: no document yet
  bool ended = false;
  bool removed = false;
  std::deque<std::string> events;  // the first has the number `first`
  std::uint64_t first = 0;
  std::size_t event_bytes = 0;
  async::CancelSource stopper;
  std::shared_ptr<async::Event> change_event = std::make_shared<async::Event>(executor);
};

struct BackgroundResponses::Ending {
  std::string status, doc;
  std::string events = {};  // of a stream: those from the end of the answer on, which no reader has yet
};

// Of one reader.
class BackgroundResponses::Events final : public http::BodySource {
 public:
  Events(BackgroundResponses& background, RunPtr run, std::uint64_t from)
      : background_(background), run_(std::move(run)), from_(from) {}
  async::Task<Result<std::string_view>> read() override {
    if (failed_) co_return std::string_view();
    auto asking = async::run_on(background_.home_.executor(), background_.next(run_, from_));
    auto piece = co_await std::move(asking);
    failed_ = !piece;
    text_ = piece ? std::move(*piece) : protocol::sse_error_event(piece.error());
    if (!text_.starts_with(':')) {
      for (auto at = text_.find("\n\n"); at != std::string::npos; at = text_.find("\n\n", at + 2)) ++from_;
    }
    co_return text_;
  }

 private:
  BackgroundResponses& background_;
  const RunPtr run_;
  std::uint64_t from_;
  std::string text_;
  bool failed_ = false;
};

BackgroundResponses::BackgroundResponses(async::Loop& home, async::Timers& timers, BackgroundLimits limits)
    : home_(home), timers_(timers), limits_(limits), tasks_(home.executor()) {}

BackgroundResponses::~BackgroundResponses() = default;

async::Task<Result<std::string>> BackgroundResponses::start(BackgroundWork work) {
  auto beginning = async::run_on(home_.executor(), begin(std::move(work)));
  co_return co_await std::move(beginning);
}

async::Task<Result<std::string>> BackgroundResponses::begin(BackgroundWork work) {
  if (stopping_) co_return fail(errc::server_stopping, "the server is shutting down: it starts no new responses");
  const auto under_way = [](const auto& entry) { return !entry.second->ended; };
  const auto all = static_cast<std::size_t>(std::ranges::count_if(runs_, under_way));
  const auto own = static_cast<std::size_t>(std::ranges::count_if(
      runs_, [&](const auto& entry) { return under_way(entry) && entry.second->work.owner == work.owner; }));
  if (own >= limits_.of_owner || all >= limits_.all) {
    co_return too_many_runs(
        fmt::format("too many background responses: {} are running, {} of them of this key; the limits are {} and {}: "
                    "wait for one to end, or cancel it",
                    all, own, limits_.all, limits_.of_owner));
  }
  if (bytes_ + work.bytes > limits_.request_bytes) {
    co_return too_many_runs(
        fmt::format("the running background responses have requests of {} bytes, and this one has {}, together more "
                    "than the limit of {} bytes: wait for one to end",
                    bytes_, work.bytes, limits_.request_bytes));
  }
  if (runs_.contains(work.id)) co_return too_many_runs(fmt::format("'{}' is already running", work.id));
  forget_ended();
  auto run = std::make_shared<Run>(std::move(work), home_.executor());
  bytes_ += run->work.bytes;
  runs_[run->work.id] = run;
  auto doc = responses::response_document(*run->work.asked, "queued");
  tasks_.spawn("background response", carry(run));
  co_return doc;
}

async::Task<void> BackgroundResponses::carry(RunPtr run) {
  std::optional<Ending> ending;
  std::exception_ptr lost;
  try {
    auto answering = answer(run);
    auto working = run->stopper.run(std::move(answering));
    ending = co_await std::move(working);
    if (!ending) ending = Ending{"cancelled", responses::response_document(*run->work.asked, "cancelled")};
  } catch (...) {
    // Nothing else ends it, and its readers wait.
    lost = std::current_exception();
    const Error error({}, "internal error: see the log of the server");
    if (!stopping_) ending = Ending{"failed", responses::response_document(*run->work.asked, "failed", &error)};
  }
  if (ending) {
    auto ended = end(run, std::move(*ending));
    co_await std::move(ended);
  }
  if (lost) std::rethrow_exception(lost);
}

async::Task<BackgroundResponses::Ending> BackgroundResponses::answer(RunPtr run) {
  auto asking = run->work.answer([run] {
    if (run->status != "queued") return;
    run->status = "in_progress";
    run->changed();
  });
  auto response = co_await std::move(asking);
  Ending ending;
  std::optional<Error> failure;
  if (response.head.status >= 400) {
    failure =
        response.failure ? *response.failure : protocol::parse_error_body(response.head.status, response.body.text());
  } else if (!response.body.streaming()) {
    ending.doc = std::move(response.body.text());
    ending.status = responses::status_in(ending.doc);
    co_return ending;
  } else {
    const auto source = response.body.take_source();
    while (true) {
      auto reading = source->read();
      const auto piece = co_await std::move(reading);
      if (!piece) failure = piece.error();
      if (!piece || piece->empty()) break;
      if (const auto found = responses::last_answer(*piece)) {
        ending.status = found->status;
        ending.doc = found->doc;
      }
      if (ending.doc.empty()) {
        run->add(*piece, limits_.event_bytes);
      } else {
        ending.events += *piece;
      }
    }
    if (!ending.doc.empty()) co_return ending;
    if (!failure) failure = Error(make_error_code(errc::server_stopping), "the response was cut off");
  }
  // A client has cancelled the request.
  const bool cancelled = kind_of(failure->code) == ErrorKind::cancelled && !stopping_;
  if (cancelled) co_return Ending{"cancelled", responses::response_document(*run->work.asked, "cancelled")};
  if (run->streams() && run->events.empty())
    responses::make_response_translator(*run->work.asked)->failure(ending.events, *failure);
  ending.status = "failed";
  ending.doc = responses::response_document(*run->work.asked, "failed", &*failure);
  co_return ending;
}

async::Task<void> BackgroundResponses::end(RunPtr run, Ending ending) {
  bytes_ -= std::exchange(run->work.bytes, 0);
  run->work.answer = nullptr;
  auto keep = std::exchange(run->work.keep, nullptr);
  // A failure because the server ends is an interruption: the store sets that status when it is opened again.
  const bool good = ending.status == "completed" || ending.status == "incomplete";
  if (!run->removed && (good || !stopping_)) {
    auto keeping = keep(ending.status, ending.doc);
    const bool kept = co_await std::move(keeping);
    if (!kept) ending.doc = responses::not_stored(ending.doc);
    if (!kept) ending.events = responses::events_not_stored(std::move(ending.events));
  }
  run->add(ending.events, limits_.event_bytes);
  run->status = std::move(ending.status);
  run->doc = std::move(ending.doc);
  run->ended = true;
  if (!run->removed) ended_.push_back(run);
  forget_ended();
  run->changed();
}

void BackgroundResponses::forget_ended() {
  while (ended_.size() > limits_.ended) {
    const auto& oldest = ended_.front();
    const auto known = runs_.find(oldest->work.id);
    if (known != runs_.end() && known->second == oldest) runs_.erase(known);
    ended_.pop_front();
  }
}

BackgroundResponses::RunPtr BackgroundResponses::known(const std::string& owner, const std::string& id) const {
  const auto found = runs_.find(id);
  return found == runs_.end() || found->second->work.owner != owner ? nullptr : found->second;
}

async::Task<BackgroundResponses::RunPtr> BackgroundResponses::look(std::string owner, std::string id) {
  co_return known(owner, id);
}

namespace {

template <typename Run>
std::string shown_run(const Run& run) {
  return run.ended ? run.doc : responses::response_document(*run.work.asked, run.status);
}

}  // namespace

async::Task<std::optional<std::string>> BackgroundResponses::find(std::string owner, std::string id) {
  auto looking = [](BackgroundResponses& background, std::string for_owner,
                    std::string which) -> async::Task<std::optional<std::string>> {
    const auto run = background.known(for_owner, which);
    co_return run ? std::optional(shown_run(*run)) : std::nullopt;
  };
  auto asking = async::run_on(home_.executor(), looking(*this, std::move(owner), std::move(id)));
  co_return co_await std::move(asking);
}

async::Task<std::optional<std::string>> BackgroundResponses::cancel(std::string owner, std::string id) {
  auto stopping = async::run_on(home_.executor(), stop(std::move(owner), std::move(id)));
  co_return co_await std::move(stopping);
}

async::Task<std::optional<std::string>> BackgroundResponses::stop(std::string owner, std::string id) {
  const auto run = known(owner, id);
  if (!run) co_return std::nullopt;
  run->stopper.stop();
  while (!run->ended) {
    const auto change_event = run->change_event;
    auto waiting = change_event->wait();
    co_await std::move(waiting);
  }
  co_return shown_run(*run);
}

async::Task<void> BackgroundResponses::remove(std::string owner, std::string id) {
  auto dropping = async::run_on(home_.executor(), drop(std::move(owner), std::move(id)));
  co_await std::move(dropping);
}

async::Task<void> BackgroundResponses::drop(std::string owner, std::string id) {
  const auto run = known(owner, id);
  if (!run) co_return;
  run->removed = true;
  runs_.erase(id);
  std::erase(ended_, run);
  run->stopper.stop();
}

async::Task<std::unique_ptr<http::BodySource>> BackgroundResponses::events(std::string owner, std::string id,
                                                                           std::uint64_t from) {
  auto looking = async::run_on(home_.executor(), look(std::move(owner), std::move(id)));
  auto run = co_await std::move(looking);
  if (!run || !run->streams()) co_return nullptr;
  co_return std::make_unique<Events>(*this, std::move(run), from);
}

async::Task<Result<std::string>> BackgroundResponses::next(RunPtr run, std::uint64_t from) {
  while (true) {
    if (from < run->first) {
      co_return fail(
          errc::response_events_gone,
          fmt::format("events before number {} are no longer stored: get the response without 'stream'", run->first));
    }
    std::string text;
    for (auto at = from - run->first; at < run->events.size() && text.size() < kEventPiece; ++at)
      text += run->events[at];
    if (!text.empty() || run->ended) co_return text;
    const auto change_event = run->change_event;
    auto waiting = [](std::shared_ptr<async::Event> event) -> async::Task<bool> {
      co_await event->wait();
      co_return true;
    };
    auto limited = async::with_timeout(timers_, kReaderPing, waiting(change_event));
    const auto woken = co_await std::move(limited);
    if (!woken) co_return std::string(http::kSsePing);
  }
}

async::Task<void> BackgroundResponses::wind_down(Millis limit) {
  auto closing = async::run_on(home_.executor(), close(limit));
  co_await std::move(closing);
}

async::Task<void> BackgroundResponses::close(Millis limit) {
  stopping_ = true;
  auto waiting = [](async::TaskGroup& tasks) -> async::Task<bool> {
    co_await tasks.join();
    co_return true;
  };
  auto limited = async::with_timeout(timers_, limit, waiting(tasks_));
  const auto done = co_await std::move(limited);
  if (!done) tasks_.cancel();
  if (!done) co_await tasks_.join();
  // Answers that were interrupted.
  for (const auto& [id, run] : runs_) {
    if (run->ended) continue;
    run->ended = true;
    run->status = "incomplete";
    run->doc = responses::interrupted(responses::response_document(*run->work.asked, "queued"));
    run->work.keep = nullptr;
    run->work.answer = nullptr;
    run->changed();
  }
  if (!done) log::info("api", "background responses were interrupted: the server shuts down");
}

}  // namespace corral::api
