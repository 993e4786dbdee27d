#include "engine/pooling_worker.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "engine/errors.h"

namespace corral::engine {

PoolingWorker::PoolingWorker(std::shared_ptr<const Model> model, std::unique_ptr<Context> context, ContextMaker make,
                             std::shared_ptr<PoolingBox> box)
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
    idle = !compute_pass();
    const std::scoped_lock lock(stats_mutex_);
    published_ = counters_;
  }
  for (const Input& input : waiting_) input.job->set_failed(Error(errc::worker_shutdown, "the model was unloaded"));
  waiting_.clear();
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
    for (std::size_t i = 0; i < job->job().inputs.size(); ++i) waiting_.push_back({job, i});
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
    for (const Input& input : waiting_) input.job->set_failed(made.error());
    waiting_.clear();
    return false;
  }
  context_ = std::move(*made);
  counters_.downsized = 0;
  if (threads_) context_->set_threads(threads_->n_threads, threads_->n_threads_batch);
  return true;
}

bool PoolingWorker::compute_pass() {
  std::erase_if(waiting_, [](const Input& input) { return input.job->cancelled() || input.job->done(); });
  if (waiting_.empty() || !ensure_context()) return false;
  std::vector<PooledView> views;
  for (const Input& input : waiting_) {
    views.push_back(
        {reinterpret_cast<std::uintptr_t>(input.job.get()), static_cast<std::uint32_t>(input.tokens().size())});
    if (views.size() == limits_.inputs) break;
  }
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(plan_pooled_pass(views, limits_));
  std::vector<Input> pass(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  const MonoTime begin = MonoClock::now();
  for (const Input& input : pass) input.job->begin(begin);
  const DecodeStatus status = decode(pass);
  if (status == DecodeStatus::ok) return true;
  if (status == DecodeStatus::aborted) {  // the engine stops: run() tells their readers
    waiting_.insert(waiting_.begin(), pass.begin(), pass.end());
    return true;
  }
  if (pass.size() == 1) {
    pass.front().job->set_failed(Error(errc::decode_failed, "libllama failed on this input"));
    return true;
  }
  // Find out which input is to blame, so that only its request fails.
  for (std::size_t i = 0; i < pass.size(); ++i) {
    if (pass[i].job->done()) continue;
    if (decode(std::span(&pass[i], 1)) != DecodeStatus::ok)
      pass[i].job->set_failed(Error(errc::decode_failed, "libllama failed on this input"));
  }
  return true;
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
  for (std::size_t i = 0; i < inputs.size(); ++i) deliver(inputs[i], static_cast<std::int32_t>(i));
  return status;
}

void PoolingWorker::deliver(const Input& input, std::int32_t sequence) {
  const float* const pooled = context_->pooled(sequence);
  if (pooled == nullptr) {
    input.job->set_failed(Error(errc::decode_failed, "libllama gave no pooled output"));
    return;
  }
  const bool scores = input.job->job().scores;
  std::vector<float> values(pooled, pooled + (scores ? 1 : model_->facts().n_embd));
  if (!scores && input.job->job().normalize) {
    double sum = 0;
    for (const float value : values) sum += static_cast<double>(value) * value;
    const auto scale = static_cast<float>(sum > 0 ? 1.0 / std::sqrt(sum) : 0.0);
    for (float& value : values) value *= scale;
  }
  input.job->set(input.index, std::move(values), MonoClock::now());
}

WorkerStats PoolingWorker::stats() const {
  const std::scoped_lock lock(stats_mutex_);
  return published_;
}

}  // namespace corral::engine
