// The running requests that may take long, inference and loads: their data and state, and a way to cancel each.
//
// On any loop: a lock guards the list, held for short accesses only. An ActiveRequest is used on its connection's loop.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/cancel_source.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/model_type.h"
#include "base/mutex.h"
#include "base/named.h"
#include "router/base/identities.h"

namespace corral::router {

// How a request ended.
enum class Outcome : std::uint8_t {
  ok,
  refused,    // the client's fault: statuses from 400 on
  failed,     // the server's or backend's fault: statuses from 500 on, streams that ended in an error
  cancelled,  // the client left, or an order cancelled it
};
inline constexpr std::size_t kOutcomeCount = 4;
const char* name_of(Outcome outcome);

enum class RequestKind : std::uint8_t { inference, load };
const char* name_of(RequestKind kind);

// The error of a request that was cancelled by an order.
Error cancelled(const RequestId& id);
// The error of a request at the end of the server.
Error interrupted();

// Public view of one request.
struct RequestView {
  RequestId id;
  RequestKind kind = RequestKind::inference;
  ModelName model;
  std::string path;
  OwnerId owner = {};
  bool stream = false;
  bool running = false;  // has its model; else it waits for the model
  NodeRef node = {};     // the node that works on it
  Millis age{0};
  Millis waited{0};  // for its model, so far or in total
};

// Result of a request at its end.
struct RequestEnd {
  ModelName model;
  ModelType type = ModelType::llm;
  Outcome outcome = Outcome::cancelled;
  std::optional<MonoClock::duration> waited;  // for its model, if it got the model
  bool quarantined = false;                   // it had ended processes before and was rejected
};

class RequestTable;

// One request from its arrival to the last byte of its answer; its destruction removes it from the list.
class ActiveRequest {
 public:
  ActiveRequest(RequestTable& table, async::Executor executor, RequestView about, ModelType type);
  ~ActiveRequest();
  ActiveRequest(const ActiveRequest&) = delete;
  ActiveRequest& operator=(const ActiveRequest&) = delete;

  // The request has its model now, at that node.
  void start(const NodeRef& node);
  // Called with that node, too.
  void on_start(std::function<void(const NodeRef& node)> call) { placed_ = std::move(call); }
  // The outcome; `cancelled` until this call.
  void end(Outcome outcome) { outcome_ = outcome; }
  void note_quarantine() { quarantined_ = true; }
  // Released at the end of the request.
  void hold(std::shared_ptr<const void> what) { held_ = std::move(what); }

  // The request was cancelled.
  bool stopped() const { return orders_->stopper.stopped(); }
  // The error for its client.
  Error why_stopped() const;
  // The task's result, or nullopt if the request was cancelled first; then the task is cancelled.
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
  // Called once on cancellation; for code that can't use until_stopped(). Empty: no longer.
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
  bool quarantined_ = false;
  std::shared_ptr<const void> held_;
  // Shared with a posted order to stop.
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
  // `ended` is called with the result of every inference request, on the loop where it ends.
  RequestTable(const Clock& clock, std::function<void(RequestEnd)> ended) : clock_(clock), ended_(std::move(ended)) {}

  std::vector<RequestView> list() const;  // oldest first
  // Cancels the requests of that id, or of these only those of `owner`; returns their number.
  std::size_t cancel(const RequestId& id, const std::optional<OwnerId>& owner = std::nullopt);
  // Ends all of them and all later ones: the server is about to close their connections.
  void interrupt();

 private:
  friend class ActiveRequest;

  const Clock& clock_;
  const std::function<void(RequestEnd)> ended_;
  std::atomic<bool> interrupted_ = false;
  mutable Mutex mutex_;
  std::uint64_t last_number_ GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, ActiveRequest*> requests_ GUARDED_BY(mutex_);
};

}  // namespace corral::router
