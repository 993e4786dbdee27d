// Background answers: they run on the home loop, independent of clients, and end with the server. Their documents, and
// the events of streams, can be read while they are running and for some time after that.
//
// Methods may be called on any loop. This object must outlive the responses that read from it. Call wind_down() before
// its destructor.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "async/cancel_source.h"
#include "async/event.h"
#include "async/loop.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "base/error.h"
#include "dialects/dialect.h"
#include "http/handler.h"

namespace corral::api {

struct BackgroundLimits {
  std::size_t of_owner = 16, all = 64;        // running
  std::uint64_t request_bytes = 64ull << 20;  // total of their bodies
  std::size_t event_bytes = 4 << 20;          // of one answer; the first ones are dropped beyond that
  std::size_t ended = 64;                     // ended answers that stay readable here
};

// An answer to start.
struct BackgroundWork {
  std::string id, owner;
  // For its document before there is an answer.
  std::shared_ptr<const dialects::Canonical> asked;
  std::uint64_t bytes = 0;  // held by it
  // Starts it; it calls `started` when a model works on it.
  std::move_only_function<async::Task<http::Response>(std::function<void()> started)> answer;
  // Stores its end; called once, unless the server ends first. False: it isn't stored, although the document says so.
  std::move_only_function<async::Task<bool>(std::string status, std::string doc)> keep = nullptr;
};

class BackgroundResponses {
 public:
  BackgroundResponses(async::Loop& home, async::Timers& timers, BackgroundLimits limits = {});
  ~BackgroundResponses();
  BackgroundResponses(const BackgroundResponses&) = delete;
  BackgroundResponses& operator=(const BackgroundResponses&) = delete;

  // Returns the document at its start. Errors: too_many_requests, server_stopping.
  async::Task<Result<std::string>> start(BackgroundWork work);
  // The current document; nothing: unknown here.
  async::Task<std::optional<std::string>> find(std::string owner, std::string id);
  // Ends it, if it is still running.
  async::Task<std::optional<std::string>> cancel(std::string owner, std::string id);
  // Ends and removes it. From then on nothing of it is stored.
  async::Task<void> remove(std::string owner, std::string id);
  // Its events from this number on, as they occur. nullptr: unknown here, or no stream.
  async::Task<std::unique_ptr<http::BodySource>> events(std::string owner, std::string id, std::uint64_t from);

  // Waits up to `limit` for running answers, then ends them.
  async::Task<void> wind_down(Millis limit);

 private:
  struct Run;
  struct Ending;
  class Events;
  using RunPtr = std::shared_ptr<Run>;

  async::Task<Result<std::string>> begin(BackgroundWork work);
  async::Task<void> carry(RunPtr run);
  async::Task<Ending> answer(RunPtr run);
  async::Task<std::optional<std::string>> stop(std::string owner, std::string id);
  async::Task<RunPtr> look(std::string owner, std::string id);
  async::Task<void> drop(std::string owner, std::string id);
  async::Task<void> close(Millis limit);
  // The bytes after `from`, which advances; empty: the end. A ping if nothing comes for a while.
  async::Task<Result<std::string>> next(RunPtr run, std::uint64_t from);
  RunPtr known(const std::string& owner, const std::string& id) const;
  // Stores it, then shows it to readers.
  async::Task<void> end(RunPtr run, Ending ending);
  void forget_ended();

  async::Loop& home_;
  async::Timers& timers_;
  const BackgroundLimits limits_;
  // On the home loop.
  std::map<std::string, RunPtr> runs_;
  std::deque<RunPtr> ended_;  // oldest first
  std::uint64_t bytes_ = 0;
  bool stopping_ = false;
  async::TaskGroup tasks_;
};

}  // namespace corral::api
