#include "router/base/request_table.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "router/base/errors.h"

namespace corral::router {

const char* name_of(Outcome outcome) {
  static constexpr std::array<const char*, kOutcomeCount> kNames{"ok", "refused", "failed", "cancelled"};
  return kNames[static_cast<std::size_t>(outcome)];
}

const char* name_of(RequestKind kind) { return kind == RequestKind::load ? "load" : "inference"; }

Error cancelled(const RequestId& id) {
  return {make_error_code(errc::cancelled), fmt::format("request '{}' was cancelled", id.value())};
}

Error interrupted() { return {make_error_code(errc::shutting_down), "the server is shutting down: retry later"}; }

ActiveRequest::ActiveRequest(RequestTable& table, async::Executor executor, RequestView about, ModelType type)
    : table_(table), executor_(executor), about_(std::move(about)), type_(type), since_(table.clock_.now()) {
  const MutexLock lock(table_.mutex_);
  number_ = ++table_.last_number_;
  table_.requests_.emplace(number_, this);
  if (table_.interrupted_) order_stop();
}

ActiveRequest::~ActiveRequest() {
  {
    const MutexLock lock(table_.mutex_);
    table_.requests_.erase(number_);
  }
  if (about_.kind != RequestKind::inference) return;
  const auto started = started_.load();
  RequestEnd end{about_.model, type_, outcome_, {}, quarantined_};
  if (started != MonoTime::max()) end.waited = started - since_;
  table_.ended_(std::move(end));
}

Error ActiveRequest::why_stopped() const { return table_.interrupted_ ? interrupted() : cancelled(about_.id); }

void ActiveRequest::order_stop() const {
  async::asio::post(executor_, [orders = orders_] {
    orders->stopper.stop();
    if (const auto once = std::exchange(orders->on_stop, {})) once();
  });
}

void ActiveRequest::start(const NodeRef& node) {
  if (started_.load() == MonoTime::max()) started_.store(table_.clock_.now());
  if (placed_) placed_(node);
  if (node == node_) return;
  const MutexLock lock(table_.mutex_);
  node_ = node;
}

std::vector<RequestView> RequestTable::list() const {
  const auto now = clock_.now();
  const auto since = [](MonoTime from, MonoTime to) { return std::chrono::duration_cast<Millis>(to - from); };
  std::vector<RequestView> all;
  const MutexLock lock(mutex_);
  for (const auto& [number, request] : requests_) {
    const auto started = request->started_.load();
    auto& view = all.emplace_back(request->about_);
    view.running = started != MonoTime::max();
    view.node = request->node_;
    view.age = since(request->since_, now);
    view.waited = since(request->since_, std::min(started, now));
  }
  return all;
}

std::size_t RequestTable::cancel(const RequestId& id, const std::optional<OwnerId>& owner) {
  std::size_t found = 0;
  const MutexLock lock(mutex_);
  for (const auto& [number, request] : requests_) {
    if (request->about_.id != id || (owner && request->about_.owner != *owner)) continue;
    ++found;
    request->order_stop();
  }
  return found;
}

void RequestTable::interrupt() {
  const MutexLock lock(mutex_);
  interrupted_ = true;
  for (const auto& [number, request] : requests_) request->order_stop();
}

}  // namespace corral::router
