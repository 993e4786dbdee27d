#include "engine_server/answer_stream.h"

#include <utility>

#include "protocol/http_error.h"

namespace corral::engine_server {
namespace {

// Marks a ping as due whenever nothing was sent for `after`.
async::Task<void> ping(async::Timers& timers, std::shared_ptr<Signal> signal, MonoClock::duration after) {
  while (true) {
    co_await timers.sleep_until(signal->last_sent + after);
    if (timers.now() < signal->last_sent + after) continue;
    signal->last_sent = timers.now();
    signal->ping_due = true;
    signal->event.set();
  }
}

}  // namespace

AnswerStream::AnswerStream(async::Executor executor, async::Timers& timers, std::vector<Choice> choices,
                           const protocol::AnswerHead& head, StreamOptions options)
    : timers_(timers),
      options_(std::move(options)),
      model_(head.model),
      signal_(std::make_shared<Signal>(executor)),
      pinger_(executor),
      running_(choices.size()) {
  parts_.reserve(choices.size());
  for (auto& choice : choices) {
    const auto index = static_cast<std::uint32_t>(parts_.size());
    auto& part =
        parts_.emplace_back(Part{.choice = std::move(choice),
                                 .writer = protocol::ChunkWriter(options_.shape, head, index, options_.logprob_shape),
                                 .reader = LogprobReader(options_.shown_probs)});
    if (part.choice.parser) part.parser.emplace(part.choice.parser, true);
    if (const auto& native = part.choice.native)
      part.native.emplace(index, options_.logprob_shape, native->with_timings);
    part.choice.generation.stream().set_waker(waker_of(signal_));
  }
  signal_->last_sent = timers_.now();
  if (options_.ping_after > MonoClock::duration::zero())
    pinger_.spawn("ping", ping(timers_, signal_, options_.ping_after));
}

AnswerStream::~AnswerStream() { count(); }

// Reports what the request took, once: at its end, or what is known when its client has left.
void AnswerStream::count() {
  const auto done = std::exchange(options_.done, nullptr);
  if (!done) return;
  for (auto& part : parts_) {
    while (!part.ended) {
      const auto chunk = part.choice.generation.stream().try_next();
      if (!chunk) break;
      if (chunk->progress) part.progress = chunk->progress;
      if (!chunk->finish) continue;
      part.ended = true;
      totals_.add(*chunk->finish, part.choice.counts_prompt, options_.before_engine);
    }
    if (!part.ended) totals_.add_unfinished(part.progress, part.choice.counts_prompt, options_.before_engine);
  }
  if (totals_.any()) done(totals_.record);
}

async::Task<Result<std::string_view>> AnswerStream::read() {
  while (true) {
    const auto ready = collect_ready();
    if (!ready.empty() || ended_) co_return ready;
    signal_->event.reset();
    co_await signal_->event.wait();
  }
}

std::string_view AnswerStream::take_ready() { return collect_ready(); }

std::string_view AnswerStream::collect_ready() {
  out_.clear();
  for (auto& part : parts_) {
    while (!part.ended && !ended_) {
      auto chunk = part.choice.generation.stream().try_next();
      if (!chunk) break;
      render(part, std::move(*chunk));
    }
  }
  if (out_.empty() && signal_->ping_due && !ended_) out_ = ": ping\n\n";
  signal_->ping_due = false;
  if (!out_.empty()) signal_->last_sent = timers_.now();
  return out_;
}

void AnswerStream::start_message(Part& part) {
  if (std::exchange(part.started, true)) return;
  if (part.parser) part.writer.role(out_, options_.prompt_usage && part.prompt ? &*part.prompt : nullptr);
  if (!part.choice.echo.empty()) part.writer.text(out_, part.choice.echo);
}

void AnswerStream::render(Part& part, engine::StreamChunk chunk) {
  if (options_.logprobs) part.reader.read(std::move(chunk.logprobs), part.logprobs);
  if (options_.return_tokens) part.tokens.insert(part.tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
  for (const auto& prompt : chunk.prompt) {
    part.prompt = protocol::Usage{.prompt_tokens = prompt.total, .cached_tokens = prompt.cached};
    if (!options_.return_progress) continue;
    start_message(part);
    const auto progress = progress_of(prompt);
    const auto timings = timings_of(prompt);
    part.native ? part.native->progress(out_, progress, timings)
                : part.writer.progress(out_, progress, options_.each_timings ? &timings : nullptr);
  }
  std::optional<protocol::Timings> timings;
  if (chunk.progress) {
    part.progress = chunk.progress;
    if (part.native || options_.each_timings) timings = timings_of(chunk.progress->usage, chunk.progress->timings);
  }
  if (!chunk.text.empty()) {
    start_message(part);
    if (part.parser) {
      part.parser->push(chunk.text, deltas_);
      write_deltas(part, timings ? &*timings : nullptr);
    } else {
      write_text(part, chunk.text, timings ? &*timings : nullptr);
    }
  }
  if (chunk.finish) render_end(part, *chunk.finish);
}

void AnswerStream::write_text(Part& part, std::string_view text, const protocol::Timings* timings) {
  part.has_new_line = part.has_new_line || text.contains('\n');
  if (part.native) {
    part.native->text(out_, text, part.tokens, timings ? *timings : protocol::Timings(), part.logprobs);
  } else {
    part.writer.text(out_, text, part.logprobs, timings, part.tokens);
  }
  part.logprobs.clear();
  part.tokens.clear();
}

void AnswerStream::write_deltas(Part& part, const protocol::Timings* timings) {
  for (std::size_t i = 0; i < deltas_.size(); ++i) {
    part.calls_tools = part.calls_tools || deltas_[i].tool_index.has_value();
    const bool last = i + 1 == deltas_.size();
    part.writer.delta(
        out_, deltas_[i],
        last ? std::span<const protocol::TokenLogprob>(part.logprobs) : std::span<const protocol::TokenLogprob>(),
        last ? timings : nullptr);
    if (last) part.logprobs.clear();
  }
  deltas_.clear();
}

void AnswerStream::fail_stream(const Error& error) {
  out_.append(protocol::sse_error_event(error));
  count();
  pinger_.cancel();
  ended_ = true;
}

void AnswerStream::render_end(Part& part, const engine::Finish& finish) {
  part.ended = true;
  --running_;
  totals_.add(finish, part.choice.counts_prompt, options_.before_engine);
  auto reason = finish_reason_of(finish);
  if (!reason) return fail_stream(reason.error());
  start_message(part);
  if (part.parser) {
    const auto read = part.parser->finish(deltas_, *reason == "length");
    write_deltas(part, nullptr);
    if (!read) return fail_stream(read.error());
    if (part.calls_tools && *reason == "stop") reason = "tool_calls";
  }
  const auto timings = timings_of(finish.usage, finish.timings);
  if (part.native) {
    write_native_end(part, finish);
  } else {
    if (!part.tokens.empty()) write_text(part, {}, nullptr);  // tokens without text
    const auto word = stopping_word(finish, options_.stops);
    part.writer.finish(out_, *reason, part.logprobs, options_.include_usage ? nullptr : &timings, word);
  }
  if (running_ > 0) return;
  count();
  pinger_.cancel();
  ended_ = true;
  if (part.native) return;
  if (options_.include_usage) part.writer.usage(out_, totals_.usage, &totals_.timings);
  protocol::ChunkWriter::done(out_);
}

void AnswerStream::write_native_end(Part& part, const engine::Finish& finish) {
  auto answer = native_end(part.choice, finish);
  if (!part.tokens.empty() || !part.logprobs.empty()) write_text(part, {}, &answer->timings);
  answer->index = static_cast<std::uint32_t>(&part - parts_.data());
  answer->model = model_;
  answer->has_new_line = part.has_new_line;
  protocol::NativeWriter::finish(out_, native_text(*part.choice.native, *answer));
}

}  // namespace corral::engine_server
