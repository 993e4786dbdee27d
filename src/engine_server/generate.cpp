// chat/completions and completions.
#include "engine_server/engine_server_impl.h"
#include "http/handler.h"

namespace corral::engine_server {

using http::Response;
using protocol::error_response;

namespace {

struct PreparedChat {
  protocol::ChatRequest request;
  Prepared prepared;
};
struct PreparedCompletion {
  protocol::CompletionRequest request;
  std::vector<Prepared> prompts;
};

StreamOptions stream_options(const EngineServerOptions& server, const protocol::GenerationRequest& request,
                             MonoClock::duration before_engine) {
  return {.include_usage = request.include_usage,
          .logprobs = request.logprobs,
          .shown_probs = request.n_probs,
          .ping_after = server.ping_after,
          .before_engine = before_engine,
          .done = server.request_done};
}

Result<std::string> chat_answer(const protocol::AnswerHead& head, const PreparedChat& chat, Collected all) {
  auto reason = finish_reason_of(all.finish);
  if (!reason) return std::unexpected(std::move(reason.error()));
  ChatParser parser(chat.prepared.parser, false);
  parser.append(all.text);
  std::vector<protocol::ChatDelta> deltas;
  if (auto read = parser.finish(deltas, *reason == "length"); !read) return std::unexpected(std::move(read.error()));
  protocol::ChatAnswer answer;
  answer.message = parser.message();
  answer.finish_reason = !answer.message.tool_calls.empty() && *reason == "stop" ? "tool_calls" : *reason;
  answer.has_logprobs = chat.request.logprobs;
  if (answer.has_logprobs) answer.logprobs = logprobs_of(std::move(all.logprobs), chat.prepared.shown_probs);
  return chat_completion(head, answer, usage_of(all.finish), timings_of(all.finish));
}

void add(protocol::Usage& sum, const protocol::Usage& more) {
  sum.prompt_tokens += more.prompt_tokens;
  sum.cached_tokens += more.cached_tokens;
  sum.completion_tokens += more.completion_tokens;
}

void add(protocol::Timings& sum, const protocol::Timings& more) {
  sum.cache_n += more.cache_n;
  sum.prompt_n += more.prompt_n;
  sum.prompt_ms += more.prompt_ms;
  sum.predicted_n += more.predicted_n;
  sum.predicted_ms += more.predicted_ms;
  sum.draft_n += more.draft_n;
  sum.draft_n_accepted += more.draft_n_accepted;
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

  auto work = [this](const std::string& text) -> Result<PreparedChat> {
    auto parsed = protocol::parse_chat_request(text);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    auto prepared = prepare_chat(service, **chat_template, *parsed);
    if (!prepared) return std::unexpected(std::move(prepared.error()));
    return PreparedChat{std::move(*parsed), std::move(*prepared)};
  };
  auto chat = co_await parse(std::move(*body), true, std::move(work));
  if (!chat) co_return error_response(chat.error());

  const auto head = head_of(chat->request.model, "chatcmpl-");
  const auto before_engine = timers.now() - arrived;
  auto generation = Generation::start(service, chat->prepared);
  if (!generation) co_return error_response(generation.error());
  const auto executor = co_await async::asio::this_coro::executor;

  if (chat->request.stream) {
    auto parser = std::make_unique<ChatParser>(chat->prepared.parser, true);
    auto source = std::make_unique<AnswerStream>(
        executor, timers, std::move(*generation), protocol::ChunkWriter(protocol::ChunkWriter::Shape::chat, head),
        std::move(parser), stream_options(options, chat->request, before_engine));
    co_return Response::event_stream(std::move(source));
  }
  auto signal = std::make_shared<Signal>(executor);
  auto all = co_await collect(*generation, std::move(signal));
  if (options.request_done) options.request_done(record_of(all.finish, before_engine));
  auto answer = chat_answer(head, *chat, std::move(all));
  if (!answer) co_return error_response(answer.error());
  co_return Response::json(200, std::move(*answer));
}

async::Task<Response> EngineServer::Impl::complete(http::Request request) {
  const auto arrived = timers.now();
  if (auto fits = require(engine::ModelKind::generative, "completions"); !fits) co_return error_response(fits.error());
  auto body = co_await request.body.read_all(options.max_body_bytes);
  if (!body) co_return error_response(body.error());

  auto work = [this](const std::string& text) -> Result<PreparedCompletion> {
    auto parsed = protocol::parse_completion_request(text);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    auto prompts = prepare_completion(service, *parsed);
    if (!prompts) return std::unexpected(std::move(prompts.error()));
    return PreparedCompletion{std::move(*parsed), std::move(*prompts)};
  };
  auto completion = co_await parse(std::move(*body), false, std::move(work));
  if (!completion) co_return error_response(completion.error());

  const auto head = head_of(completion->request.model, "cmpl-");
  const auto before_engine = timers.now() - arrived;
  std::vector<Generation> generations;
  for (auto& prompt : completion->prompts) {
    auto generation = Generation::start(service, prompt);
    if (!generation) co_return error_response(generation.error());
    generations.push_back(std::move(*generation));
  }
  const auto executor = co_await async::asio::this_coro::executor;

  if (completion->request.stream) {
    auto source = std::make_unique<AnswerStream>(executor, timers, std::move(generations.front()),
                                                 protocol::ChunkWriter(protocol::ChunkWriter::Shape::text, head),
                                                 nullptr, stream_options(options, completion->request, before_engine));
    co_return Response::event_stream(std::move(source));
  }
  std::vector<protocol::TextAnswer> answers;
  protocol::Usage usage;
  protocol::Timings timings;
  for (auto& generation : generations) {
    auto signal = std::make_shared<Signal>(executor);
    auto all = co_await collect(generation, std::move(signal));
    if (options.request_done) options.request_done(record_of(all.finish, before_engine));
    const auto reason = finish_reason_of(all.finish);
    if (!reason) co_return error_response(reason.error());
    auto& answer = answers.emplace_back();
    answer.text = std::move(all.text);
    answer.finish_reason = *reason;
    answer.has_logprobs = completion->request.logprobs;
    if (answer.has_logprobs) answer.logprobs = logprobs_of(std::move(all.logprobs), completion->request.n_probs);
    if (completion->request.return_tokens) answer.tokens = std::move(all.tokens);
    add(usage, usage_of(all.finish));
    add(timings, timings_of(all.finish));
  }
  co_return Response::json(200, text_completion(head, answers, usage, timings));
}

}  // namespace corral::engine_server
