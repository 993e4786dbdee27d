#include "engine/worker.h"

#include <algorithm>
#include <utility>

#include "engine/errors.h"

namespace corral::engine {

Worker::Worker(std::shared_ptr<const Model> model, std::unique_ptr<Context> context, std::shared_ptr<CommandBox> box,
               WorkerOptions options)
    : model_(std::move(model)),
      options_(options),
      box_(std::move(box)),
      context_(std::move(context)),
      sequences_(*context_, model_->plain_attention(), options.prefix_cache_tokens),
      batch_(context_->n_batch()) {
  counters_.kv_cells = published_.kv_cells = context_->n_ctx();
}

Worker::~Worker() { stop(); }

void Worker::start() {
  thread_ = std::thread([this] { run(); });
}

void Worker::stop() {
  box_->close();
  if (thread_.joinable()) thread_.join();
}

void Worker::run() {
  bool idle = true;
  for (bool open = true; open;) {
    open = box_->take(commands_, idle);
    for (Command& command : commands_) {
      std::visit([this](auto& one) { apply(std::move(one)); }, command);
    }
    commands_.clear();
    if (!open) break;
    resume_paused();
    admit();
    idle = !compute_pass();
    publish_stats();
  }
  for (auto& [id, session] : sessions_) {
    if (session->generation) finish(*session, StopReason::shutdown);
  }
  publish_stats();
}

Session* Worker::find(SessionId id) {
  const auto found = sessions_.find(id.value());
  return found == sessions_.end() ? nullptr : found->second.get();
}

void Worker::apply(CreateSession&& command) {
  auto session = std::make_unique<Session>(std::move(command.session));
  sequences_.add(*session);
  sessions_.emplace(session->id(), std::move(session));
}

void Worker::apply(AppendTokens&& command) {
  Session* const session = find(command.session);
  if (session == nullptr) return;
  session->touched = MonoClock::now();
  std::vector<Token>& to = session->generation ? session->appended : session->history;
  to.insert(to.end(), command.tokens.begin(), command.tokens.end());
}

void Worker::apply(StartGeneration&& command) {
  Session* const session = find(command.session);
  if (session == nullptr) {  // ended on another thread, a moment ago
    command.generation.ticket.release();
    Finish ended;
    ended.reason = StopReason::session_ended;
    command.generation.stream->finish(std::move(ended));
    return;
  }
  if (session->generation) finish(*session, StopReason::superseded);
  session->generation.emplace(std::move(command.generation));
  Generation& generation = *session->generation;
  generation.order = next_order_++;
  generation.usage.prompt_tokens = static_cast<std::uint32_t>(session->history.size());
  ++counters_.generations;

  const std::uint32_t limit = session->shared->n_ctx;
  if (session->history.empty()) {
    finish(*session, StopReason::error,
           Error(errc::invalid_argument, "there is nothing to go on from: append input first"));
  } else if (generation.max_new_tokens == 0) {
    finish(*session, StopReason::length);
  } else if (session->history.size() >= limit) {
    finish(*session, StopReason::context_full,
           context_full({.needed = session->history.size() + 1, .n_past = session->history.size(), .n_ctx = limit}));
  } else {
    generation.sampler->prime(session->history);
    session->phase = Phase::waiting;
    waiting_.push_back(session);
  }
}

void Worker::apply(CancelGeneration&& command) {
  Session* const session = find(command.session);
  if (session == nullptr || !session->generation) return;
  if (command.stream != nullptr && session->generation->stream.get() != command.stream) return;
  finish(*session, StopReason::cancelled);
}

void Worker::apply(EndSession&& command) {
  Session* const session = find(command.session);
  if (session == nullptr) return;
  if (session->generation) finish(*session, StopReason::session_ended);
  sequences_.remove(*session);
  sessions_.erase(session->id());
}

void Worker::apply(SetThreads&& command) { context_->set_threads(command.n_threads, command.n_threads_batch); }

void Worker::publish_stats() {
  counters_.sessions = static_cast<std::uint32_t>(sessions_.size());
  counters_.waiting = static_cast<std::uint32_t>(waiting_.size());
  counters_.generating = static_cast<std::uint32_t>(active_.size() + waiting_.size() + paused_.size());
  counters_.kv_used = std::min(sequences_.used_cells(), counters_.kv_cells);
  counters_.cached_prefixes = static_cast<std::uint32_t>(sequences_.kept_prefixes());
  const std::scoped_lock lock(stats_mutex_);
  published_ = counters_;
}

WorkerStats Worker::stats() const {
  const std::scoped_lock lock(stats_mutex_);
  return published_;
}

}  // namespace corral::engine
