// chat/completions, completions, completion and infill.
#include <algorithm>

#include <fmt/ranges.h>

#include "engine_server/answer_stream.h"
#include "engine_server/engine_server_impl.h"
#include "http/handler.h"

namespace corral::engine_server {

using dialects::error_response;
using http::Response;

namespace {

// A request with its running answers.
template <typename Request>
struct Begun {
  Request request;
  std::vector<Choice> choices;
  MonoTime at;
  Warnings warnings;
};

// The client of a request, and its part of the quota.
struct Asker {
  std::string client;
  bool background = false;
  engine::ClientQuota::Held share = {};
};

template <typename Request>
Result<Begun<Request>> begin(const Clock& clock, const std::shared_ptr<engine::InferenceEngine>& service,
                             Request request, std::vector<Prepared> prompts, const Asker& asker,
                             const CancelToken& stop) {
  const auto at = clock.now();
  for (auto& prompt : prompts) {
    prompt.options.client = asker.client;
    prompt.options.background = asker.background;
  }
  auto warnings = prompts.empty() ? Warnings() : prompts.front().warnings;
  auto choices = start_choices(service, std::move(prompts), request.n, stop);
  if (!choices) return std::unexpected(std::move(choices.error()));
  for (auto& choice : *choices) choice.share = asker.share;
  return Begun<Request>{std::move(request), std::move(*choices), at, std::move(warnings)};
}

// Also sent as a header: streams and other dialects have no field for them before their end.
constexpr std::string_view kWarnings = "X-Corral-Warnings";
constexpr std::size_t kMaxWarningBytes = 1000;

Response with_warnings(Response response, const Warnings& warnings) {
  if (warnings.empty()) return response;
  auto line = fmt::format("{}", fmt::join(warnings, "; "));
  line.resize(std::min(line.size(), kMaxWarningBytes));
  std::ranges::replace_if(line, [](char c) { return c < 0x20 || c > 0x7E; }, '?');
  response.head.headers.set(kWarnings, std::move(line));
  return response;
}

protocol::LogprobShape logprob_shape(const protocol::GenerationRequest& request) {
  // OpenAI's own shapes have no place for probabilities.
  if (request.post_sampling_probs) return protocol::LogprobShape::probabilities;
  return request.legacy_logprobs ? protocol::LogprobShape::legacy : protocol::LogprobShape::content;
}

StreamOptions stream_options(const EngineServerOptions& server, const protocol::GenerationRequest& request,
                             MonoClock::duration before_engine) {
  return {.include_usage = request.include_usage,
          .prompt_usage = request.prompt_usage,
          .return_progress = request.return_progress,
          .each_timings = request.timings_per_token,
          .return_tokens = request.return_tokens,
          .logprobs = request.logprobs,
          .logprob_shape = logprob_shape(request),
          .shown_probs = request.n_probs,
          .ping_after = request.ping_interval.value_or(server.ping_after),
          .before_engine = before_engine,
          .done = server.request_done};
}

std::vector<protocol::TokenLogprob> logprobs_of(std::vector<engine::TokenLogprob> tokens, std::uint32_t shown) {
  std::vector<protocol::TokenLogprob> all;
  LogprobReader(shown).read(std::move(tokens), all);
  return all;
}

Result<protocol::ChatAnswer> chat_answer(const protocol::ChatRequest& request, const Choice& choice, Collected all) {
  auto reason = finish_reason_of(*all.finish);
  if (!reason) return std::unexpected(std::move(reason.error()));
  ChatParser parser(choice.parser, false);
  parser.append(all.text);
  std::vector<protocol::ChatDelta> deltas;
  if (auto read = parser.finish(deltas, *reason == "length"); !read) return std::unexpected(std::move(read.error()));
  protocol::ChatAnswer answer;
  answer.message = parser.message();
  answer.finish_reason = !answer.message.tool_calls.empty() && *reason == "stop" ? "tool_calls" : *reason;
  answer.stopping_word = stopping_word(*all.finish, request.stop);
  answer.has_logprobs = request.logprobs;
  answer.logprob_shape = logprob_shape(request);
  if (answer.has_logprobs) answer.logprobs = logprobs_of(std::move(all.logprobs), request.n_probs);
  return answer;
}

// Extra fields of a verbose chat; empty: none.
std::string verbose_of(const Begun<protocol::ChatRequest>& begun, const std::string& model,
                       std::span<const Collected> all) {
  const auto& choice = begun.choices.front();
  if (!choice.native) return {};
  auto answer = native_end(choice, *all.front().finish);
  if (!answer) return {};
  answer->model = model;
  answer->has_new_line = all.front().text.contains('\n');
  answer->content = all.front().text;
  answer->tokens = all.front().tokens;
  return native_text(*choice.native, *answer);
}

Result<protocol::TextAnswer> text_answer(const protocol::CompletionRequest& request, const Choice& choice,
                                         Collected all) {
  const auto reason = finish_reason_of(*all.finish);
  if (!reason) return std::unexpected(reason.error());
  protocol::TextAnswer answer;
  answer.text = choice.echo + all.text;
  answer.finish_reason = *reason;
  answer.has_logprobs = request.logprobs;
  answer.logprob_shape = logprob_shape(request);
  if (answer.has_logprobs) answer.logprobs = logprobs_of(std::move(all.logprobs), request.n_probs);
  if (request.return_tokens) answer.tokens = std::move(all.tokens);
  return answer;
}

// In llama-server's own shape.
Result<std::vector<std::string>> native_answers_of(const Begun<protocol::CompletionRequest>& begun,
                                                   const std::string& model, std::vector<Collected> all) {
  std::vector<std::string> answers;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& facts = *begun.choices[i].native;
    auto answer = native_end(begun.choices[i], *all[i].finish);
    if (!answer) return std::unexpected(std::move(answer.error()));
    answer->index = static_cast<std::uint32_t>(i);
    answer->model = model;
    answer->has_new_line = all[i].text.contains('\n');
    answer->content = std::move(all[i].text);
    if (begun.request.return_tokens) answer->tokens = std::move(all[i].tokens);
    answer->has_logprobs = begun.request.logprobs;
    answer->logprob_shape = logprob_shape(begun.request);
    if (answer->has_logprobs) answer->logprobs = logprobs_of(std::move(all[i].logprobs), begun.request.n_probs);
    answers.push_back(native_text(facts, *answer));
  }
  return answers;
}

// `answer_of` each choice, or the first error.
template <typename Request, typename AnswerOf>
auto answers_of(const Begun<Request>& begun, std::vector<Collected> all, AnswerOf answer_of) {
  using Answer = std::invoke_result_t<AnswerOf, const Request&, const Choice&, Collected>::value_type;
  Result<std::vector<Answer>> answers;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto answer = answer_of(begun.request, begun.choices[i], std::move(all[i]));
    if (!answer) return Result<std::vector<Answer>>(std::unexpected(std::move(answer.error())));
    answers->push_back(std::move(*answer));
  }
  return answers;
}

}  // namespace

async::Task<Response> EngineServer::Impl::chat(http::Request request) {
  const auto arrived = timers.now();
  if (auto fits = require(engine::ModelKind::generative, "chat/completions"); !fits) {
    co_return error_response(fits.error());
  }
  if (!chat_template) co_return error_response(chat_template.error());
  auto body = co_await request.body.read_all(options.max_body_bytes);
  if (!body) co_return error_response(body.error());
  auto client = client_of(request);

  const bool background = in_background(request);
  auto start = [this, client, background](protocol::ChatRequest asked,
                                          const CancelToken& stop) -> Result<Begun<protocol::ChatRequest>> {
    auto share = enter(client, asked.n);
    if (!share) return std::unexpected(std::move(share.error()));
    auto prepared = prepare_chat(prompt_tokens, **chat_template, asked, stop);
    if (!prepared) return std::unexpected(std::move(prepared.error()));
    if (!prepared->media.empty()) {
      auto room = enter_media(client, engine::memory_of(prepared->media));
      if (!room) return std::unexpected(std::move(room.error()));
      share = std::make_shared<const std::pair<engine::ClientQuota::Held, engine::ClientQuota::Held>>(std::move(*share),
                                                                                                      std::move(*room));
    }
    std::vector<Prepared> prompts;
    prompts.push_back(std::move(*prepared));
    return begin(timers, alive, std::move(asked), std::move(prompts), {client, background, std::move(*share)}, stop);
  };
  auto chat = co_await make_ready<protocol::ChatRequest>(std::move(*body), std::move(client),
                                                         protocol::parse_chat_request, std::move(start));
  if (!chat) co_return error_response(chat.error());
  options.prepared(request.id);

  auto head = head_of(chat->request.model, "chatcmpl-");
  head.not_stored = chat->request.store;
  head.warnings = chat->warnings;
  const auto before_engine = chat->at - arrived;
  const auto executor = co_await async::asio::this_coro::executor;
  if (chat->request.stream) {
    auto streaming = stream_options(options, chat->request, before_engine);
    streaming.shape = protocol::ChunkWriter::Shape::chat;
    streaming.return_tokens = false;
    streaming.stops = chat->request.stop;
    auto events =
        std::make_unique<AnswerStream>(executor, timers, std::move(chat->choices), head, std::move(streaming));
    co_return with_warnings(Response::event_stream(std::move(events)), head.warnings);
  }
  auto collecting = collect(chat->choices, std::make_shared<Signal>(executor), before_engine, options.request_done);
  auto [all, totals] = co_await std::move(collecting);
  const auto verbose = verbose_of(*chat, head.model, all);
  const auto answers = answers_of(*chat, std::move(all), chat_answer);
  if (!answers) co_return error_response(answers.error());
  auto text = chat_completion(head, *answers, totals.usage, totals.timings, verbose);
  co_return with_warnings(Response::json(200, std::move(text)), head.warnings);
}

async::Task<Response> EngineServer::Impl::complete(http::Request request) {
  return complete_as(std::move(request), CompletionShape::openai);
}

async::Task<Response> EngineServer::Impl::complete_native(http::Request request) {
  return complete_as(std::move(request), CompletionShape::native);
}

async::Task<Response> EngineServer::Impl::infill(http::Request request) {
  return complete_as(std::move(request), CompletionShape::infill);
}

async::Task<Response> EngineServer::Impl::complete_as(http::Request request, CompletionShape shape) {
  const auto arrived = timers.now();
  struct Row {
    const char* endpoint;
    Result<protocol::CompletionRequest> (*read)(const std::string&);
  };
  static constexpr Row kRows[] = {{"completions", protocol::parse_completion_request},
                                  {"completion", protocol::parse_native_request},
                                  {"infill", protocol::parse_infill_request}};
  const auto [endpoint, read] = kRows[static_cast<std::size_t>(shape)];
  const bool native = shape != CompletionShape::openai;
  if (auto fits = require(engine::ModelKind::generative, endpoint); !fits) co_return error_response(fits.error());
  auto body = co_await request.body.read_all(options.max_body_bytes);
  if (!body) co_return error_response(body.error());
  auto client = client_of(request);

  const bool background = in_background(request);
  auto start = [this, client, background](protocol::CompletionRequest asked,
                                          const CancelToken& stop) -> Result<Begun<protocol::CompletionRequest>> {
    auto share = enter(client, std::uint64_t(asked.n) * std::max<std::size_t>(1, asked.prompts.size()));
    if (!share) return std::unexpected(std::move(share.error()));
    auto prompts = prepare_completion(prompt_tokens, asked, stop);
    if (!prompts) return std::unexpected(std::move(prompts.error()));
    return begin(timers, alive, std::move(asked), std::move(*prompts), {client, background, std::move(*share)}, stop);
  };
  auto completion =
      co_await make_ready<protocol::CompletionRequest>(std::move(*body), std::move(client), read, std::move(start));
  if (!completion) co_return error_response(completion.error());
  options.prepared(request.id);

  auto head = head_of(completion->request.model, "cmpl-");
  head.warnings = completion->warnings;
  const auto before_engine = completion->at - arrived;
  const auto executor = co_await async::asio::this_coro::executor;
  if (completion->request.stream) {
    auto streaming = stream_options(options, completion->request, before_engine);
    streaming.return_tokens = streaming.return_tokens || native;
    auto events =
        std::make_unique<AnswerStream>(executor, timers, std::move(completion->choices), head, std::move(streaming));
    co_return with_warnings(Response::event_stream(std::move(events)), head.warnings);
  }
  auto collecting =
      collect(completion->choices, std::make_shared<Signal>(executor), before_engine, options.request_done);
  auto [all, totals] = co_await std::move(collecting);
  if (native) {
    const auto answers = native_answers_of(*completion, head.model, std::move(all));
    if (!answers) co_return error_response(answers.error());
    co_return with_warnings(Response::json(200, protocol::native_answers(*answers)), head.warnings);
  }
  const auto answers = answers_of(*completion, std::move(all), text_answer);
  if (!answers) co_return error_response(answers.error());
  auto text = text_completion(head, *answers, totals.usage, totals.timings);
  co_return with_warnings(Response::json(200, std::move(text)), head.warnings);
}

}  // namespace corral::engine_server
