// Answers that nobody waits for: they are made on the home loop, whoever leaves, and end with the server. What each has
// come to, and the events of those that stream, can be read while it is under way and for some time after that.
//
// Methods may be called on any loop. The desk must outlive the answers that read from it, and be ended by wind_down().
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
  std::size_t of_owner = 16, all = 64;        // under way
  std::uint64_t request_bytes = 64ull << 20;  // of their bodies together
  std::size_t event_bytes = 4 << 20;          // of one, of which the first go when there are more
  std::size_t ended = 64;                     // that can still be read here
};

// One to be made.
struct BackgroundWork {
  std::string id, owner;
  // To tell of it before there is an answer.
  std::shared_ptr<const dialects::Canonical> asked;
  std::uint64_t bytes = 0;  // that it holds
  // Begins; `started` is to be called when a model works on it.
  std::move_only_function<async::Task<http::Response>(std::function<void()> started)> answer;
  // Called once at its end, if the server doesn't end before.
  std::move_only_function<void(std::string_view status, const std::string& doc)> keep = nullptr;
};

class BackgroundResponses {
 public:
  BackgroundResponses(async::Loop& home, async::Timers& timers, BackgroundLimits limits = {});
  ~BackgroundResponses();
  BackgroundResponses(const BackgroundResponses&) = delete;
  BackgroundResponses& operator=(const BackgroundResponses&) = delete;

  // The answer as it stands at its beginning. Errors: too_many_requests, server_stopping.
  async::Task<Result<std::string>> start(BackgroundWork work);
  // As it stands; none: it isn't known here.
  async::Task<std::optional<std::string>> find(std::string owner, std::string id);
  // Ended, if it hasn't been before.
  async::Task<std::optional<std::string>> cancel(std::string owner, std::string id);
  // It is forgotten, and ends. Nothing of it is kept from then on.
  async::Task<void> remove(std::string owner, std::string id);
  // Its events from that number on, as they come. nullptr: it isn't known here, or doesn't stream.
  async::Task<std::unique_ptr<http::BodySource>> events(std::string owner, std::string id, std::uint64_t from);

  // Waits so long for those under way, then ends them.
  async::Task<void> wind_down(Millis limit);

 private:
  struct Run;
  class Events;
  using RunPtr = std::shared_ptr<Run>;

  async::Task<Result<std::string>> begin(BackgroundWork work);
  async::Task<void> carry(RunPtr run);
  async::Task<bool> answer(RunPtr run);
  async::Task<std::optional<std::string>> stop(std::string owner, std::string id);
  async::Task<RunPtr> look(std::string owner, std::string id);
  async::Task<void> drop(std::string owner, std::string id);
  async::Task<void> close(Millis limit);
  // What comes behind `from`, which moves on; empty: nothing will. A ping where nothing comes for a while.
  async::Task<Result<std::string>> next(RunPtr run, std::uint64_t from);
  RunPtr known(const std::string& owner, const std::string& id) const;
  void end(const RunPtr& run, std::string_view status, std::string doc);
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
