#include "engine_server/answer.h"

#include <fmt/format.h>

#include "engine/errors.h"
#include "protocol/errors.h"
#include "protocol/http_error.h"

namespace corral::engine_server {

RequestRecord record_of(const engine::Finish& finish, MonoClock::duration before_engine) {
  const double before = std::chrono::duration<double, std::milli>(before_engine).count();
  return {.input_tokens = finish.usage.prompt_tokens,
          .cached_tokens = finish.usage.cached_tokens,
          .output_tokens = finish.usage.completion_tokens,
          .first_token_ms = before + finish.timings.queue_ms + finish.timings.prompt_ms,
          .output_ms = finish.timings.predicted_ms};
}

protocol::Usage usage_of(const engine::Finish& finish) {
  return {finish.usage.prompt_tokens, finish.usage.cached_tokens, finish.usage.completion_tokens};
}

protocol::Timings timings_of(const engine::Finish& finish) {
  return {.cache_n = finish.usage.cached_tokens,
          .prompt_n = finish.usage.prompt_tokens - finish.usage.cached_tokens,
          .prompt_ms = finish.timings.prompt_ms,
          .predicted_n = finish.usage.completion_tokens,
          .predicted_ms = finish.timings.predicted_ms,
          .draft_n = finish.usage.drafted_tokens,
          .draft_n_accepted = finish.usage.accepted_tokens};
}

Result<std::string_view> finish_reason_of(const engine::Finish& finish) {
  const auto cut_off = [&](protocol::errc cause) {
    if (finish.error) return Result<std::string_view>(std::unexpected(*finish.error));
    return Result<std::string_view>(fail(cause, fmt::format("the answer was cut off: {}", to_string(finish.reason))));
  };
  switch (finish.reason) {
    case engine::StopReason::stop:
      return "stop";
    case engine::StopReason::length:
      return "length";
    case engine::StopReason::context_full:
      if (finish.usage.completion_tokens == 0 && finish.error) return std::unexpected(*finish.error);
      return "length";
    case engine::StopReason::cancelled:
    case engine::StopReason::session_ended:
    case engine::StopReason::superseded:
      return cut_off(protocol::errc::remote_cancelled);
    case engine::StopReason::shutdown:
      return cut_off(protocol::errc::remote_unavailable);
    case engine::StopReason::error:
      break;
  }
  return cut_off(protocol::errc::remote_internal);
}

std::vector<protocol::TokenLogprob> logprobs_of(std::vector<engine::TokenLogprob> tokens, std::uint32_t shown) {
  std::vector<protocol::TokenLogprob> all;
  all.reserve(tokens.size());
  for (auto& token : tokens) {
    auto& out = all.emplace_back();
    out.id = token.token;
    out.token = std::move(token.piece);
    out.logprob = token.logprob;
    for (auto& top : token.top) {
      if (out.top.size() == shown) break;
      out.top.push_back({top.token, std::move(top.piece), top.logprob});
    }
  }
  return all;
}

async::Task<Collected> collect(Generation& generation, std::shared_ptr<Signal> signal) {
  Collected all;
  generation.stream().set_waker(waker_of(signal));
  while (true) {
    while (auto chunk = generation.stream().try_next()) {
      if (chunk->finish) {
        all.finish = std::move(*chunk->finish);
        co_return all;
      }
      all.text.append(chunk->text);
      all.tokens.insert(all.tokens.end(), chunk->tokens.begin(), chunk->tokens.end());
      std::ranges::move(chunk->logprobs, std::back_inserter(all.logprobs));
    }
    signal->event.reset();
    co_await signal->event.wait();
  }
}

namespace {

// Marks a sign of life as due whenever nothing was sent for `after`.
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

AnswerStream::AnswerStream(async::Executor executor, async::Timers& timers, Generation generation,
                           protocol::ChunkWriter writer, std::unique_ptr<ChatParser> parser, StreamOptions options)
    : timers_(timers),
      generation_(std::move(generation)),
      writer_(std::move(writer)),
      parser_(std::move(parser)),
      options_(std::move(options)),
      signal_(std::make_shared<Signal>(executor)),
      pinger_(executor) {
  signal_->last_sent = timers_.now();
  generation_.stream().set_waker(waker_of(signal_));
  pinger_.spawn("ping", ping(timers_, signal_, options_.ping_after));
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
  while (!ended_) {
    auto chunk = generation_.stream().try_next();
    if (!chunk) break;
    render(std::move(*chunk));
  }
  if (out_.empty() && signal_->ping_due && !ended_) out_ = ": ping\n\n";
  signal_->ping_due = false;
  if (!out_.empty()) signal_->last_sent = timers_.now();
  return out_;
}

void AnswerStream::start_message() {
  if (started_) return;
  started_ = true;
  if (parser_) writer_.role(out_);
}

void AnswerStream::render(engine::StreamChunk chunk) {
  if (options_.logprobs) {
    auto more = logprobs_of(std::move(chunk.logprobs), options_.shown_probs);
    std::ranges::move(more, std::back_inserter(logprobs_));
  }
  if (!chunk.text.empty()) {
    start_message();
    if (parser_) {
      parser_->push(chunk.text, deltas_);
      write_deltas();
    } else {
      writer_.text(out_, chunk.text, logprobs_);
      logprobs_.clear();
    }
  }
  if (chunk.finish) render_end(*chunk.finish);
}

void AnswerStream::write_deltas() {
  for (std::size_t i = 0; i < deltas_.size(); ++i) {
    calls_tools_ = calls_tools_ || deltas_[i].tool_index.has_value();
    const bool last = i + 1 == deltas_.size();
    writer_.delta(
        out_, deltas_[i],
        last ? std::span<const protocol::TokenLogprob>(logprobs_) : std::span<const protocol::TokenLogprob>());
    if (last) logprobs_.clear();
  }
  deltas_.clear();
}

void AnswerStream::fail_stream(const Error& error) {
  out_.append(protocol::sse_error_event(error));
  ended_ = true;
}

void AnswerStream::render_end(const engine::Finish& finish) {
  if (options_.done) options_.done(record_of(finish, options_.before_engine));
  pinger_.cancel();
  auto reason = finish_reason_of(finish);
  if (!reason) return fail_stream(reason.error());
  start_message();
  if (parser_) {
    const auto read = parser_->finish(deltas_, *reason == "length");
    write_deltas();
    if (!read) return fail_stream(read.error());
    if (calls_tools_ && *reason == "stop") reason = "tool_calls";
  }
  const auto timings = timings_of(finish);
  writer_.finish(out_, *reason, options_.include_usage ? nullptr : &timings);
  if (options_.include_usage) writer_.usage(out_, usage_of(finish), &timings);
  protocol::ChunkWriter::done(out_);
  ended_ = true;
}

}  // namespace corral::engine_server
