#include "api/llama/kept_streams.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "api/base/errors.h"
#include "async/event.h"
#include "async/task_group.h"
#include "base/mutex.h"
#include "dialects/error_filter.h"

namespace corral::api {
namespace {

constexpr std::size_t kReadAtOnce = 64 << 10;  // read at a time

async::Task<bool> until_set(async::Event& event) {
  co_await event.wait();
  co_return true;
}

Error was_stopped() {
  return {make_error_code(errc::stream_stopped), "the request was cancelled: its stream was stopped"};
}

}  // namespace

// On one loop, except constant, atomic or guarded members.
struct KeptStreams::Session {
  Session(async::Executor loop, Name stream_name, WallTime now, MonoTime mono)
      : executor(loop), name(std::move(stream_name)), began(now), room(loop), group(loop), last_read(mono) {}

  void wake() const {
    for (auto* waiter : waiters) waiter->set();
  }
  void append(std::string_view piece, std::size_t max) {
    bytes.append(piece);
    if (bytes.size() > max) {
      dropped += bytes.size() - max;
      bytes.erase(0, bytes.size() - max);
    }
    total = dropped + bytes.size();
    first = dropped;
    wake();
  }

  const async::Executor executor;
  const Name name;
  const WallTime began;

  std::optional<http::Response> whole;  // an answer that doesn't stream
  http::ResponseHead head;              // of an answer that streams
  std::string bytes;
  std::uint64_t dropped = 0;  // before them
  std::optional<Error> failure;
  std::vector<async::Event*> waiters;
  async::Event room;  // a reader has more bytes, or has left
  async::TaskGroup group;

  std::atomic<bool> streams = false, done = false;
  std::atomic<std::uint64_t> total = 0, first = 0;
  std::atomic<std::int64_t> finished_ms = 0;

  // Of a client that waits for the stream or reads it: the bytes that it has, and when it last took some.
  struct Place {
    std::uint64_t bytes = 0;
    MonoTime took;
  };
  mutable Mutex readers_mutex;
  std::map<const Presence*, Place> readers GUARDED_BY(readers_mutex);
  MonoTime last_read GUARDED_BY(readers_mutex);  // when the last one left

  bool is_left(MonoTime now, Millis age) const {
    const MutexLock lock(readers_mutex);
    return readers.empty() && now - last_read > age;
  }
  // Whether the stream waits for a reader that would lose bytes soon.
  bool is_ahead(MonoTime now, const KeptLimits& limits) const {
    const MutexLock lock(readers_mutex);
    bool stalled = false, ready = false;
    for (const auto& [presence, place] : readers) {
      const bool behind = total > place.bytes && total - place.bytes >= limits.bytes / 2;
      if (behind && now - place.took < limits.patience) return true;
      (behind ? stalled : ready) = true;
    }
    return stalled && !ready;
  }
};

struct KeptStreams::State {
  State(async::Timers& the_timers, KeptLimits the_limits) : timers(the_timers), limits(the_limits) {}

  // Only if the name still means this session.
  void forget(const SessionPtr& session) {
    const MutexLock lock(mutex);
    const auto found = sessions.find(session->name);
    if (found != sessions.end() && found->second == session) sessions.erase(found);
  }
  SessionPtr take(const Name& name) {
    const MutexLock lock(mutex);
    const auto found = sessions.find(name);
    if (found == sessions.end()) return nullptr;
    auto session = std::move(found->second);
    sessions.erase(found);
    return session;
  }
  // Drops the oldest ended stream of `owner`, or of all, if there are too many.
  bool make_room(const std::string* owner, std::size_t max) REQUIRES(mutex) {
    std::size_t there = 0;
    auto oldest = sessions.end();
    for (auto at = sessions.begin(); at != sessions.end(); ++at) {
      if (owner != nullptr && at->first.first != *owner) continue;
      ++there;
      if (!at->second->done) continue;
      if (oldest == sessions.end() || at->second->finished_ms < oldest->second->finished_ms) oldest = at;
    }
    if (there < max) return true;
    if (oldest == sessions.end()) return false;
    end(oldest->second);
    sessions.erase(oldest);
    return true;
  }
  static void end(const SessionPtr& session) {
    async::asio::post(session->executor, [session] { session->group.cancel(); });
  }

  async::Timers& timers;
  const KeptLimits limits;
  mutable Mutex mutex;
  std::map<Name, SessionPtr> sessions GUARDED_BY(mutex);
  bool closed GUARDED_BY(mutex) = false;
};

// A client that waits for a stream or reads it. On any loop.
class KeptStreams::Presence {
 public:
  Presence(std::shared_ptr<State> state, SessionPtr session, std::uint64_t at)
      : state_(std::move(state)), session_(std::move(session)) {
    has(at);
  }
  ~Presence() {
    {
      const MutexLock lock(session_->readers_mutex);
      session_->readers.erase(this);
      session_->last_read = state_->timers.now();
    }
    async::asio::post(session_->executor, [session = session_] { session->room.set(); });
  }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

  // It has the bytes before this one.
  void has(std::uint64_t at) {
    const MutexLock lock(session_->readers_mutex);
    session_->readers[this] = {at, state_->timers.now()};
  }

 private:
  const std::shared_ptr<State> state_;
  const SessionPtr session_;
};

// The body that a client reads.
class KeptStreams::Reader final : public http::BodySource {
 public:
  Reader(std::shared_ptr<State> state, SessionPtr session, std::uint64_t from)
      : session_(session), presence_(std::move(state), std::move(session), from), at_(from) {}

  async::Task<Result<std::string_view>> read() override {
    presence_.has(at_);
    auto reading = next(session_, at_);
    auto piece = co_await async::run_on(session_->executor, std::move(reading));
    if (!piece) co_return std::unexpected(std::move(piece.error()));
    presence_.has(at_);  // the wait for the piece was the stream's, not the reader's
    text_ = std::move(*piece);
    at_ += text_.size();
    co_return std::string_view(text_);
  }

 private:
  const SessionPtr session_;
  Presence presence_;
  std::uint64_t at_;
  std::string text_;
};

KeptStreams::KeptStreams(async::Timers& timers, KeptLimits limits) : state_(std::make_shared<State>(timers, limits)) {}

async::Task<Result<std::string>> KeptStreams::next(SessionPtr session, std::uint64_t from) {
  async::Event changed(session->executor);
  struct Waiting {
    Session& session;
    async::Event* event;
    Waiting(Session& of, async::Event* with) : session(of), event(with) { session.waiters.push_back(with); }
    ~Waiting() { std::erase(session.waiters, event); }
  };
  const Waiting waiting(*session, &changed);
  session->room.set();
  while (true) {
    if (from < session->dropped) {
      co_return fail(errc::stream_lost,
                     fmt::format("the first {} bytes of the stream are no longer stored: use from={}", session->dropped,
                                 session->dropped));
    }
    const auto at = static_cast<std::size_t>(from - session->dropped);
    if (at < session->bytes.size()) co_return session->bytes.substr(at, kReadAtOnce);
    if (session->done && session->failure) co_return std::unexpected(*session->failure);
    if (session->done) co_return std::string();
    changed.reset();
    co_await changed.wait();
  }
}

async::Task<void> KeptStreams::run(std::shared_ptr<State> state, SessionPtr session,
                                   async::Task<http::Response> answering) {
  // Wakes waiters at any end of this task.
  struct Ending {
    State& state;
    Session& session;
    ~Ending() {
      session.finished_ms = epoch_millis(state.timers.wall_now());
      session.done = true;
      session.wake();
    }
  };
  {
    const Ending ending{*state, *session};
    auto answer = co_await std::move(answering);
    if (!answer.body.streaming() || answer.head.status != 200) {
      state->forget(session);
      session->whole = std::move(answer);
      co_return;
    }
    session->head = answer.head;
    session->failure = was_stopped();  // unless it ends regularly
    session->streams = true;
    session->wake();
    const auto source = answer.body.take_source();
    while (true) {
      while (session->is_ahead(state->timers.now(), state->limits)) {
        session->room.reset();
        auto waiting = async::with_timeout(state->timers, state->limits.patience, until_set(session->room));
        co_await std::move(waiting);
      }
      const auto piece = co_await source->read();
      if (!piece) {
        session->failure = piece.error();
        break;
      }
      if (piece->empty()) {
        session->failure.reset();
        break;
      }
      session->append(*piece, state->limits.bytes);
      if (session->is_left(state->timers.now(), state->limits.age)) break;
    }
  }
  co_await state->timers.sleep_for(state->limits.age);
  state->forget(session);
}

KeptStreams::SessionPtr KeptStreams::begin(const Name& name, async::Executor executor) {
  drop(name);
  const MutexLock lock(state_->mutex);
  if (state_->closed) return nullptr;
  if (!state_->make_room(&name.first, state_->limits.of_one_key)) return nullptr;
  if (!state_->make_room(nullptr, state_->limits.streams)) return nullptr;
  // Its tasks may be cancelled only on its loop.
  auto gone = [executor](Session* session) {
    async::asio::post(executor, [owned = std::unique_ptr<Session>(session)] {});
  };
  SessionPtr session(new Session(executor, name, state_->timers.wall_now(), state_->timers.now()), std::move(gone));
  state_->sessions[name] = session;
  return session;
}

async::Task<http::Response> KeptStreams::keep(Name name, async::Task<http::Response> answering) {
  const auto executor = co_await async::asio::this_coro::executor;
  const auto session = begin(name, executor);
  if (!session) co_return co_await std::move(answering);
  const Presence presence(state_, session, 0);
  async::Event begun(executor);
  session->waiters.push_back(&begun);
  struct Waiting {
    Session& of;
    async::Event* event;
    ~Waiting() { std::erase(of.waiters, event); }
  };
  {
    const Waiting waiting{*session, &begun};
    session->group.spawn("kept stream", run(state_, session, std::move(answering)));
    while (!session->streams && !session->done) {
      begun.reset();
      co_await begun.wait();
    }
  }
  if (session->whole) co_return std::move(*session->whole);
  if (!session->streams) co_return dialects::error_response(was_stopped());
  http::Response response{session->head, {}};
  response.body = http::Body(std::make_unique<Reader>(state_, session, 0));
  co_return response;
}

Result<http::Response> KeptStreams::read(const Name& name, std::uint64_t from) {
  SessionPtr session;
  {
    const MutexLock lock(state_->mutex);
    if (const auto found = state_->sessions.find(name); found != state_->sessions.end()) session = found->second;
  }
  if (!session)
    return fail(errc::stream_not_found, fmt::format("the conversation '{}' has no stream", name.second), "conv_id");
  if (!session->streams) {
    Error early(make_error_code(errc::stream_not_begun), "the stream has not started yet: retry");
    early.retry_after = std::chrono::seconds(1);
    return std::unexpected(std::move(early));
  }
  if (from < session->first) {
    return fail(
        errc::stream_lost,
        fmt::format(
            "the first {} bytes of the stream are no longer stored: repeat the last request of the conversation",
            session->first.load()),
        "from");
  }
  return http::Response::event_stream(std::make_unique<Reader>(state_, std::move(session), from));
}

void KeptStreams::drop(const Name& name) {
  if (const auto session = state_->take(name)) State::end(session);
}

std::vector<KeptStreams::View> KeptStreams::find(const std::string& owner, std::span<const std::string> ids) const {
  std::vector<View> views;
  const MutexLock lock(state_->mutex);
  for (const auto& [name, session] : state_->sessions) {
    const auto is_asked = [&full = name.second](const std::string& id) {
      return full.starts_with(id) && (full.size() == id.size() || full.substr(id.size()).starts_with("::"));
    };
    if (name.first != owner || std::ranges::none_of(ids, is_asked)) continue;
    auto& view = views.emplace_back(View{name.second, session->done, session->total, session->began});
    if (view.ended) view.finished = WallTime(Millis(session->finished_ms));
  }
  return views;
}

async::Task<void> KeptStreams::stop() {
  std::map<Name, SessionPtr> all;
  {
    const MutexLock lock(state_->mutex);
    state_->closed = true;
    all.swap(state_->sessions);
  }
  const auto ended = [](SessionPtr session) -> async::Task<void> {
    session->group.cancel();
    co_await session->group.join();
  };
  for (const auto& [name, session] : all) {
    auto ending = ended(session);
    co_await async::run_on(session->executor, std::move(ending));
  }
}

}  // namespace corral::api
