// The requests under way that may take their time, inference and loads: who they are, where they stand, and a way to
// end one from outside.
//
// On any loop: a lock guards the list and is held for looking through it only. What belongs to one request, its
// ActiveRequest, is touched on its connection's loop.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "async/cancel_source.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/model_type.h"
#include "base/named.h"
#include "router/base/identities.h"

namespace corral::router {

// How a request ended.
enum class Outcome : std::uint8_t {
  ok,
  refused,    // its own fault: statuses from 400 on
  failed,     // ours or the backend's: statuses from 500 on, streams that ended in an error
  cancelled,  // the client left, or somebody cancelled it
};
inline constexpr std::size_t kOutcomeCount = 4;
const char* name_of(Outcome outcome);

enum class RequestKind : std::uint8_t { inference, load };
const char* name_of(RequestKind kind);

// What a request is told that somebody cancelled.
Error cancelled(const RequestId& id);
// And one that the end of the server comes upon.
Error interrupted();

// One request as others see it.
struct RequestView {
  RequestId id;
  RequestKind kind = RequestKind::inference;
  ModelName model;
  std::string path;
  OwnerId owner = {};
  bool stream = false;
  bool running = false;  // has its model; else it waits for it
  NodeRef node = {};     // that works on it
  Millis age{0};
  Millis waited{0};  // for its model, so far or in all
};

// What is left of a request at its end.
struct RequestEnd {
  ModelName model;
  ModelType type = ModelType::llm;
  Outcome outcome = Outcome::cancelled;
  std::optional<MonoClock::duration> waited;  // for its model, if it got it
  bool quarantined = false;                   // it had ended processes before and wasn't sent
};

class RequestTable;

// One request from its arrival to the last byte of its answer; dropping it takes it off the list.
class ActiveRequest {
 public:
  ActiveRequest(RequestTable& table, async::Executor executor, RequestView about, ModelType type);
  ~ActiveRequest();
  ActiveRequest(const ActiveRequest&) = delete;
  ActiveRequest& operator=(const ActiveRequest&) = delete;

  // It has its model now, at that node.
  void start(const NodeRef& node);
  // Told that node, too.
  void on_start(std::function<void(const NodeRef& node)> call) { placed_ = std::move(call); }
  // How it ends; `cancelled` until it is said.
  void end(Outcome outcome) { outcome_ = outcome; }
  void keep_off() { kept_off_ = true; }
  // Goes with it.
  void hold(std::shared_ptr<const void> what) { held_ = std::move(what); }

  // Somebody wants it to end.
  bool stopped() const { return orders_->stopper.stopped(); }
  // Why, for its client.
  Error why_stopped() const;
  // The task's result, or nullopt when somebody wanted the request to end first; then the task is cancelled.
  template <typename T>
  async::Task<std::optional<T>> until_stopped(async::Task<T> task) const {
    return orders_->stopper.run(std::move(task));
  }
  // The same, with errc::cancelled.
  template <typename T>
  async::Task<Result<T>> unless_stopped(async::Task<Result<T>> task) const {
    auto done = co_await until_stopped(std::move(task));
    if (!done) co_return std::unexpected(why_stopped());
    co_return std::move(*done);
  }
  // Called once when that happens; for what can't wait beside it. Empty: no more.
  void on_stop(std::function<void()> call) { orders_->on_stop = std::move(call); }

 private:
  friend class RequestTable;

  RequestTable& table_;
  std::uint64_t number_ = 0;
  const async::Executor executor_;
  const RequestView about_;
  const ModelType type_;
  const MonoTime since_;
  std::atomic<MonoTime> started_{MonoTime::max()};
  NodeRef node_;  // changed under the table's lock
  std::function<void(const NodeRef&)> placed_;
  Outcome outcome_ = Outcome::cancelled;
  bool kept_off_ = false;
  std::shared_ptr<const void> held_;
  // Shared with an order to stop while that is on its way to this loop.
  struct Orders {
    async::CancelSource stopper;
    std::function<void()> on_stop;
  };
  // On any loop.
  void order_stop() const;
  const std::shared_ptr<Orders> orders_ = std::make_shared<Orders>();
};

class RequestTable {
 public:
  // `ended` is called with what is left of every inference request, on the loop where it ends.
  RequestTable(const Clock& clock, std::function<void(RequestEnd)> ended) : clock_(clock), ended_(std::move(ended)) {}

  std::vector<RequestView> list() const;  // oldest first
  // Ends the requests of that id, or of these only those of `owner`: how many there were.
  std::size_t cancel(const RequestId& id, const std::optional<OwnerId>& owner = std::nullopt);
  // Ends all of them, those that come later too: the server is about to close their connections.
  void interrupt();

 private:
  friend class ActiveRequest;

  const Clock& clock_;
  const std::function<void(RequestEnd)> ended_;
  std::atomic<bool> interrupted_ = false;
  mutable std::mutex mutex_;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, ActiveRequest*> requests_;
};

}  // namespace corral::router
