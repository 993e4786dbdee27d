#include "engine_server/answer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "engine/values/errors.h"
#include "protocol/errors.h"

namespace corral::engine_server {

protocol::Timings timings_of(const engine::Usage& usage, const engine::Timings& timings) {
  return {.cache_n = usage.cached_tokens,
          .prompt_n = usage.prompt_tokens - usage.cached_tokens,
          .prompt_ms = timings.prompt_ms,
          .predicted_n = usage.completion_tokens,
          .predicted_ms = timings.predicted_ms,
          .predicted_steps = usage.completion_tokens > 0 ? usage.completion_tokens - 1 : 0,
          .draft_n = usage.drafted_tokens,
          .draft_n_accepted = usage.accepted_tokens};
}

protocol::Timings timings_of(const engine::PromptProgress& progress) {
  const std::uint32_t computed = progress.processed - std::min(progress.processed, progress.cached);
  return {.cache_n = progress.cached, .prompt_n = computed, .prompt_ms = computed > 0 ? progress.ms : 0};
}

protocol::PromptProgress progress_of(const engine::PromptProgress& progress) {
  return {.total = progress.total, .cache = progress.cached, .processed = progress.processed, .time_ms = progress.ms};
}

void Totals::add(const engine::Finish& finish, bool counts_prompt, MonoClock::duration before_engine) {
  if (counts_prompt) {
    usage.prompt_tokens += finish.usage.prompt_tokens;
    usage.cached_tokens += finish.usage.cached_tokens;
  }
  usage.completion_tokens += finish.usage.completion_tokens;

  const auto more = timings_of(finish.usage, finish.timings);
  timings.cache_n += more.cache_n;
  timings.prompt_n += more.prompt_n;
  timings.prompt_ms += more.prompt_ms;
  timings.predicted_n += more.predicted_n;
  timings.predicted_ms += more.predicted_ms;
  timings.predicted_steps += more.predicted_steps;
  timings.draft_n += more.draft_n;
  timings.draft_n_accepted += more.draft_n_accepted;

  const double before = std::chrono::duration<double, std::milli>(before_engine).count();
  const double first_token = before + finish.timings.queue_ms + finish.timings.prompt_ms;
  record.input_tokens = usage.prompt_tokens;
  record.cached_tokens = usage.cached_tokens;
  record.output_tokens = usage.completion_tokens;
  record.output_steps = timings.predicted_steps;
  record.first_token_ms = std::exchange(any_, true) ? std::min(record.first_token_ms, first_token) : first_token;
  record.output_ms = std::max(record.output_ms, finish.timings.predicted_ms);
  record.prompt_ms = timings.prompt_ms;
  record.predicted_ms = timings.predicted_ms;
  record.longest = std::max<std::uint64_t>(record.longest,
                                           std::uint64_t{finish.usage.prompt_tokens} + finish.usage.completion_tokens);
}

void Totals::add_unfinished(const std::optional<engine::Progress>& progress, bool counts_prompt,
                            MonoClock::duration before_engine) {
  if (progress) add({.usage = progress->usage, .timings = progress->timings}, counts_prompt, before_engine);
}

namespace {

// The answer is empty because there was no memory for more cells, or other sessions have them.
Error no_cells(const engine::Finish& finish) {
  const auto* full = finish.error->fact<engine::ContextFull>();
  if (full == nullptr) return *finish.error;
  return protocol::context_exceeded(
      {.n_prompt_tokens = finish.usage.prompt_tokens, .n_ctx = full->n_ctx},
      fmt::format("the prompt has {} tokens and needs a context of at least {}, but there is memory for only {} now: "
                  "shorten it, unload another model, or load this one with a larger ctx_size",
                  finish.usage.prompt_tokens, full->needed, full->n_ctx),
      {});
}

}  // namespace

Result<std::string_view> finish_reason_of(const engine::Finish& finish) {
  const auto cut_off = [&](protocol::errc cause) {
    if (finish.error) return Result<std::string_view>(std::unexpected(*finish.error));
    return Result<std::string_view>(
        fail(cause, fmt::format("the generation was aborted: {}", to_string(finish.reason))));
  };
  switch (finish.reason) {
    case engine::FinishReason::stop:
      return "stop";
    case engine::FinishReason::length:
      return "length";
    case engine::FinishReason::context_full:
      if (finish.usage.completion_tokens == 0 && finish.error) return std::unexpected(no_cells(finish));
      return "length";
    case engine::FinishReason::cancelled:
    case engine::FinishReason::session_ended:
    case engine::FinishReason::superseded:
      return cut_off(protocol::errc::remote_cancelled);
    case engine::FinishReason::shutdown:
      return cut_off(protocol::errc::remote_unavailable);
    case engine::FinishReason::error:
      break;
  }
  return cut_off(protocol::errc::remote_internal);
}

std::string_view stopping_word(const engine::Finish& finish, std::span<const std::string> stops) {
  const bool own =
      finish.reason == engine::FinishReason::stop && std::ranges::find(stops, finish.stop_string) != stops.end();
  return own ? std::string_view(finish.stop_string) : std::string_view();
}

Result<protocol::NativeAnswer> native_end(const Choice& choice, const engine::Finish& finish) {
  const auto reason = finish_reason_of(finish);
  if (!reason) return std::unexpected(reason.error());
  protocol::NativeAnswer answer{
      .settings = choice.native->settings->with_seed(choice.seed),
      .prompt = choice.native->prompt,
      .truncated = finish.discarded > 0 || finish.reason == engine::FinishReason::context_full,
      .stop_type = "limit",
      .stopping_word = finish.stop_string,
      .usage = {.prompt_tokens = finish.usage.prompt_tokens,
                .cached_tokens = finish.usage.cached_tokens,
                .completion_tokens = finish.usage.completion_tokens},
      .timings = timings_of(finish.usage, finish.timings)};
  if (finish.reason == engine::FinishReason::stop) answer.stop_type = finish.stop_string.empty() ? "eos" : "word";
  return answer;
}

std::string native_text(const NativeFacts& facts, const protocol::NativeAnswer& answer) {
  auto text = protocol::native_answer(answer);
  return facts.response_fields.empty() ? text : protocol::select_fields(text, facts.response_fields);
}

void LogprobReader::read(std::vector<engine::TokenLogprob> tokens, std::vector<protocol::TokenLogprob>& to) {
  for (auto& token : tokens) {
    if (token.ends_generation) continue;
    auto& out = to.emplace_back();
    out.id = token.token;
    out.token = std::move(token.piece);
    out.logprob = token.logprob;
    out.text_offset = text_offset_;
    // Counts characters: all bytes that are no UTF-8 continuation bytes.
    text_offset_ += static_cast<std::uint32_t>(
        std::ranges::count_if(out.token, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
    for (auto& top : token.top) {
      if (out.top.size() == shown_) break;
      out.top.push_back({top.token, std::move(top.piece), top.logprob});
    }
  }
}

namespace {

// Reads what is available.
void take(Generation& generation, Collected& all) {
  while (auto chunk = generation.stream().try_next()) {
    if (chunk->finish) {
      all.finish = std::move(*chunk->finish);
      return;
    }
    all.text.append(chunk->text);
    all.tokens.insert(all.tokens.end(), chunk->tokens.begin(), chunk->tokens.end());
    std::ranges::move(chunk->logprobs, std::back_inserter(all.logprobs));
    if (chunk->progress) all.progress = chunk->progress;
  }
}

// Counts the request when it ends: with its answers, or with its client.
class CountAtEnd {
 public:
  CountAtEnd(std::span<Choice> choices, CollectedAnswers& answers, MonoClock::duration before_engine, RequestDone done)
      : choices_(choices), answers_(answers), before_engine_(before_engine), done_(std::move(done)) {}
  ~CountAtEnd() { count(); }
  CountAtEnd(const CountAtEnd&) = delete;
  CountAtEnd& operator=(const CountAtEnd&) = delete;

  void count() {
    if (std::exchange(counted_, true)) return;
    auto& totals = answers_.totals;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      auto& one = answers_.all[i];
      const bool prompt = choices_[i].counts_prompt;
      if (!one.finish) take(choices_[i].generation, one);
      one.finish ? totals.add(*one.finish, prompt, before_engine_)
                 : totals.add_unfinished(one.progress, prompt, before_engine_);
    }
    if (done_ && totals.any()) done_(totals.record);
  }

 private:
  const std::span<Choice> choices_;
  CollectedAnswers& answers_;
  const MonoClock::duration before_engine_;
  const RequestDone done_;
  bool counted_ = false;
};

}  // namespace

async::Task<CollectedAnswers> collect(std::span<Choice> choices, std::shared_ptr<Signal> signal,
                                      MonoClock::duration before_engine, RequestDone done) {
  CollectedAnswers answers{.all = std::vector<Collected>(choices.size()), .totals = {}};
  CountAtEnd counting(choices, answers, before_engine, std::move(done));
  for (auto& choice : choices) choice.generation.stream().set_waker(waker_of(signal));
  while (true) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (!answers.all[i].finish) take(choices[i].generation, answers.all[i]);
    }
    if (std::ranges::all_of(answers.all, [](const auto& one) { return one.finish.has_value(); })) break;
    signal->event.reset();
    co_await signal->event.wait();
  }
  counting.count();
  co_return answers;
}

}  // namespace corral::engine_server
