#include "engine/pooled/pooling_worker.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <new>
#include <utility>

#include "engine/values/errors.h"

namespace corral::engine {

PoolingWorker::PoolingWorker(std::shared_ptr<const Model> model, std::unique_ptr<LlamaContext> context,
                             ContextMaker make, std::shared_ptr<PoolingBox> box)
    : model_(std::move(model)),
      box_(std::move(box)),
      make_(std::move(make)),
      limits_{.tokens = context->n_batch(), .inputs = context->sequence_ids(), .alike = model_->facts().gpus == 0},
      context_(std::move(context)),
      batch_(context_->n_batch()) {}

PoolingWorker::~PoolingWorker() { stop(); }

void PoolingWorker::start() {
  thread_ = std::thread([this] { run(); });
}

void PoolingWorker::stop() {
  box_->close();
  if (thread_.joinable()) thread_.join();
}

void PoolingWorker::run() {
  std::vector<PoolingCommand> commands;
  bool idle = true;
  for (bool open = true; open;) {
    open = box_->take(commands, idle);
    take(commands);
    commands.clear();
    if (!open) break;
    idle = !step();
    publish();
  }
  waiting_.fail_all(Error(errc::worker_shutdown, "the model was unloaded"));
}

void PoolingWorker::publish() {
  const MutexLock lock(stats_mutex_);
  published_ = counters_;
}

bool PoolingWorker::step() noexcept {
  try {
    return compute_pass();
  } catch (const std::exception& failure) {
    recover(failure.what());
  } catch (...) {
    recover("an unknown exception");
  }
  return true;
}

// The context may be broken. If the failing inputs are not known, all requests fail.
void PoolingWorker::recover(const char* what) noexcept {
  ++counters_.fresh_starts;
  box_->end_pass();
  context_.reset();
  for (const Input& input : pass_) input.job->set_failed(worker_failed(what));
  if (pass_.empty()) waiting_.fail_all(worker_failed(what));
  pass_.clear();
}

void PoolingWorker::take(std::vector<PoolingCommand>& commands) {
  for (PoolingCommand& command : commands) {
    if (const auto* threads = std::get_if<SetThreads>(&command)) {
      threads_ = *threads;
      if (context_) context_->set_threads(threads->n_threads, threads->n_threads_batch);
      continue;
    }
    if (auto* const smaller = std::get_if<Downsize>(&command)) {
      downsize(*smaller);
      continue;
    }
    const auto& job = std::get<std::shared_ptr<PooledState>>(command);
    try {
      waiting_.add(job);
    } catch (const std::bad_alloc& failure) {
      job->set_failed(worker_failed(failure.what()));
    }
  }
}

void PoolingWorker::downsize(Downsize& command) {
  const bool idle = waiting_.empty();
  if (idle) context_.reset();
  counters_.downsized = context_ ? 0 : 1;
  command.done({.done = idle});
}

bool PoolingWorker::ensure_context() {
  if (context_) return true;
  auto made = make_();
  if (!made) {
    waiting_.fail_all(made.error());
    return false;
  }
  context_ = std::move(*made);
  counters_.downsized = 0;
  if (threads_) context_->set_threads(threads_->n_threads, threads_->n_threads_batch);
  return true;
}

void PoolingWorker::plan_pass() {
  const std::vector<PooledTurns::Request*> requests = waiting_.first(limits_.inputs);
  std::vector<PooledView> views;
  views.reserve(requests.size());
  for (const PooledTurns::Request* request : requests) views.push_back(request->left());
  const std::vector<std::uint32_t> taken = plan_pooled_pass(views, limits_);
  pass_.clear();
  pass_.reserve(limits_.inputs);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    PooledTurns::Request& request = *requests[i];
    for (std::uint32_t n = 0; n < taken[i]; ++n) pass_.push_back({request.job, request.next + n});
    request.next += taken[i];
    request.had_turn = taken[i] > 0;
  }
  waiting_.go_round();
}

bool PoolingWorker::compute_pass() {
  waiting_.forget_over();
  if (waiting_.empty() || !ensure_context()) return false;
  plan_pass();
  const MonoTime begin = MonoClock::now();
  for (const Input& input : pass_) input.job->begin(begin);
  const DecodeStatus status = decode(pass_);
  if (status == DecodeStatus::aborted) {  // the engine stops
    for (const Input& input : pass_) input.job->set_failed(Error(errc::worker_shutdown, "the model was unloaded"));
  } else if (status != DecodeStatus::ok) {
    find_blame();
  }
  pass_.clear();
  return true;
}

// A pass failed. Each input is computed alone to find the failing one, so that only its request fails.
void PoolingWorker::find_blame() {
  const bool alone = pass_.size() == 1;
  for (const Input& input : pass_) {
    if (input.job->done()) continue;
    if (alone || decode(std::span(&input, 1)) != DecodeStatus::ok)
      input.job->set_failed(Error(errc::decode_failed, "libllama failed on this input"));
  }
}

DecodeStatus PoolingWorker::decode(std::span<const Input> inputs) {
  batch_.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::uint32_t position = 0;
    for (const Token token : inputs[i].tokens()) batch_.add(token, position++, static_cast<std::int32_t>(i), true);
  }
  context_->clear_all();  // causal embedding models keep cells; nothing is shared between passes
  box_->begin_pass({});
  const MonoTime begin = MonoClock::now();
  const DecodeStatus status = context_->decode(batch_);
  box_->end_pass();
  counters_.decode_ms += std::chrono::duration<double, std::milli>(MonoClock::now() - begin).count();
  if (status != DecodeStatus::ok) return status;
  ++counters_.steps;
  counters_.batch_tokens += batch_.size();
  counters_.prompt_tokens += batch_.size();
  counters_.last_batch = batch_.size();
  counters_.step_tokens.observe(batch_.size());
  counters_.step_sessions.observe(static_cast<double>(inputs.size()));
  counters_.max_batch = std::max(counters_.max_batch, batch_.size());
  counters_.pooled_inputs += inputs.size();
  publish();  // first, so that a client that has its result finds it in the counters
  std::int32_t row = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    deliver(inputs[i], static_cast<std::int32_t>(i), row);
    row += static_cast<std::int32_t>(inputs[i].tokens().size());
  }
  return status;
}

void PoolingWorker::deliver(const Input& input, std::int32_t sequence, std::int32_t row) {
  const PooledState::Job& job = input.job->job();
  const bool pooling = model_->facts().pooling != Pooling::none;
  const std::size_t size = job.scores ? 1 : model_->facts().n_embd;
  const std::size_t vectors = pooling ? 1 : input.tokens().size();
  std::vector<float> values;
  values.reserve(vectors * size);
  for (std::size_t i = 0; i < vectors; ++i) {
    const float* const output =
        pooling ? context_->pooled(sequence) : context_->unpooled(row + static_cast<std::int32_t>(i));
    if (output == nullptr) {
      input.job->set_failed(Error(errc::decode_failed, "libllama gave no embedding"));
      return;
    }
    values.insert(values.end(), output, output + size);
  }
  if (pooling && !job.scores && job.normalize) {
    double sum = 0;
    for (const float value : values) sum += static_cast<double>(value) * value;
    const auto scale = static_cast<float>(sum > 0 ? 1.0 / std::sqrt(sum) : 0.0);
    for (float& value : values) value *= scale;
  }
  input.job->set(input.index, std::move(values), MonoClock::now());
}

WorkerStats PoolingWorker::stats() const {
  const MutexLock lock(stats_mutex_);
  return published_;
}

}  // namespace corral::engine
