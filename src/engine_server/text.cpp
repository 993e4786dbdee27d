// Endpoints tokenize, detokenize and apply-template, and information about the engine.
#include <fmt/format.h>

#include "engine_server/engine_server_impl.h"
#include "engine_server/preparation/chat_media.h"
#include "engine_server/settings.h"
#include "json/writer.h"
#include "protocol/errors.h"

namespace corral::engine_server {

using dialects::error_response;
using http::Response;

namespace {

// Of text in messages, to be counted: rendering it takes some times as much memory.
constexpr std::size_t kMaxCounted = 8 << 20;

// In prompts that clients see: the text of llama-server.
constexpr std::string_view kShownMarker = "<__media__>";

Result<std::size_t> count(const PromptTokens& tokens, const std::string& prompt, std::span<const MediaFile> files,
                          const CancelToken& stop) {
  if (files.empty()) return tokens.count(prompt, "messages", stop);
  const auto made = tokens_with_media(tokens, prompt, files, 0, stop);
  if (!made) return std::unexpected(made.error());
  return made->tokens.size();
}

std::string tokens_with_pieces(const engine::InferenceEngine& service, const std::vector<engine::Token>& tokens) {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("tokens").begin_array();
  for (const auto token : tokens) {
    const auto piece = service.piece(token, true);
    out.begin_object().field("id", token).key("piece");
    if (json::is_utf8(piece)) {
      out.value(piece);
    } else {  // incomplete character: its bytes, as in llama-server
      out.begin_array();
      for (const char c : piece) out.value(static_cast<unsigned>(static_cast<unsigned char>(c)));
      out.end_array();
    }
    out.end_object();
  }
  out.end_array().end_object();
  return text;
}

std::string meta_of(const engine::ModelFacts& facts) {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("kind", engine::to_string(facts.kind)).field("architecture", facts.architecture);
  out.field("n_vocab", facts.n_vocab).field("n_ctx", facts.n_ctx).field("n_ctx_train", facts.n_ctx_train);
  out.field("n_embd", facts.n_embd).field("n_params", facts.n_params).field("size", facts.model_bytes).end_object();
  return text;
}

}  // namespace

async::Task<Response> EngineServer::Impl::tokenize(http::Request request) {
  auto body = co_await request.body.read_all(options.max_body_bytes);
  if (!body) co_return error_response(body.error());
  auto client = client_of(request);
  auto work = [this](const std::string& text, const CancelToken& stop) -> Result<std::string> {
    const auto asked = protocol::parse_tokenize_request(text);
    if (!asked) return std::unexpected(asked.error());
    if (stop.wanted()) return stopped();
    const auto tokens = prompt_tokens.plain(asked->content, asked->add_special, asked->parse_special, "content");
    if (!tokens) return std::unexpected(tokens.error());
    if (asked->with_pieces) return tokens_with_pieces(service, *tokens);
    return "{\"tokens\":" + protocol::tokens_answer(*tokens) + "}";
  };
  auto answer = co_await parse(std::move(*body), std::move(client), Parsing::by_size, std::move(work));
  if (!answer) co_return error_response(answer.error());
  co_return Response::json(200, std::move(*answer));
}

async::Task<Response> EngineServer::Impl::detokenize(http::Request request) {
  auto body = co_await request.body.read_all(options.max_body_bytes);
  if (!body) co_return error_response(body.error());
  auto client = client_of(request);
  auto work = [this](const std::string& text, const CancelToken& stop) -> Result<std::string> {
    auto asked = protocol::parse_detokenize_request(text);
    if (!asked) return std::unexpected(std::move(asked.error()));
    const auto tokens = prompt_tokens.read(protocol::Input(std::move(asked->tokens)), {}, "tokens", stop);
    if (!tokens) return std::unexpected(tokens.error());
    std::string answer;
    json::Writer(answer).begin_object().field("content", service.detokenize(*tokens, true)).end_object();
    return answer;
  };
  auto answer = co_await parse(std::move(*body), std::move(client), Parsing::by_size, std::move(work));
  if (!answer) co_return error_response(answer.error());
  co_return Response::json(200, std::move(*answer));
}

// The prompt of a chat request.
async::Task<Response> EngineServer::Impl::apply_template(http::Request request) {
  if (auto fits = require(engine::ModelKind::generative, "apply-template"); !fits) {
    co_return error_response(fits.error());
  }
  if (!chat_template) co_return error_response(chat_template.error());
  auto body = co_await request.body.read_all(options.max_body_bytes);
  if (!body) co_return error_response(body.error());
  auto client = client_of(request);
  auto work = [this](const std::string& text, const CancelToken&) -> Result<std::string> {
    auto asked = protocol::parse_chat_request(text);
    if (!asked) return std::unexpected(asked.error());
    if (auto fits = prompt_tokens.check_bytes(asked->text_bytes, "messages"); !fits)
      return std::unexpected(std::move(fits.error()));
    if (const auto files = take_media(*asked, service.facts(), kShownMarker); !files)
      return std::unexpected(files.error());
    const auto chat = (*chat_template)->render(*asked);
    if (!chat) return std::unexpected(chat.error());
    std::string answer;
    json::Writer(answer).begin_object().field("prompt", chat->prompt).end_object();
    return answer;
  };
  auto answer = co_await parse(std::move(*body), std::move(client), Parsing::heavy, std::move(work));
  if (!answer) co_return error_response(answer.error());
  co_return Response::json(200, std::move(*answer));
}

// Number of tokens of that prompt, even if it doesn't fit the context, so that clients see by how much.
async::Task<Response> EngineServer::Impl::chat_tokens(http::Request request) {
  if (auto fits = require(engine::ModelKind::generative, "chat/completions/input_tokens"); !fits) {
    co_return error_response(fits.error());
  }
  if (!chat_template) co_return error_response(chat_template.error());
  auto body = co_await request.body.read_all(options.max_body_bytes);
  if (!body) co_return error_response(body.error());
  auto client = client_of(request);
  auto work = [this](protocol::ChatRequest asked, const CancelToken& stop) -> Result<std::string> {
    if (asked.text_bytes > kMaxCounted) {
      return fail(protocol::errc::bad_value,
                  fmt::format("'messages' have {} bytes of text, at most {} are allowed: count them in parts",
                              asked.text_bytes, kMaxCounted),
                  "messages");
    }
    const auto files = take_media(asked, service.facts(), media_marker());
    if (!files) return std::unexpected(files.error());
    const auto chat = (*chat_template)->render(asked);
    if (!chat) return std::unexpected(chat.error());
    const auto tokens = count(prompt_tokens, chat->prompt, *files, stop);
    if (!tokens) return std::unexpected(tokens.error());
    std::string answer;
    json::Writer out(answer);
    out.begin_object().field("object", "response.input_tokens").field("input_tokens", *tokens).end_object();
    return answer;
  };
  auto answer = co_await make_ready<protocol::ChatRequest>(std::move(*body), std::move(client),
                                                           protocol::parse_chat_request, std::move(work));
  if (!answer) co_return error_response(answer.error());
  co_return Response::json(200, std::move(*answer));
}

Response EngineServer::Impl::health() const { return Response::json(200, R"({"status":"ok"})"); }

Response EngineServer::Impl::models() const {
  const protocol::ModelEntry entry{
      .id = options.model_name, .created = started, .owned_by = "corral", .meta = meta_of(service.facts())};
  return Response::json(200, protocol::model_list({&entry, 1}));
}

Response EngineServer::Impl::props() const {
  const auto& facts = service.facts();
  std::string text;
  json::Writer out(text);
  out.begin_object().key("default_generation_settings").begin_object().field("n_ctx", facts.n_ctx);
  engine::GenerateOptions defaults;
  defaults.sampling = service.default_sampling();
  out.key("params")
      .raw(SettingsText(defaults, {}, facts.n_ctx, service.end_tokens()).with_seed(defaults.sampling.seed))
      .end_object();
  out.field("total_slots", facts.workers * facts.max_sequences).field("model_path", facts.path);
  out.field("model_alias", options.model_name);
  out.field("chat_template", chat_template ? std::string_view((*chat_template)->source()) : std::string_view());
  const auto piece = [&](engine::Token token) {
    return token == engine::kNoToken ? std::string() : service.piece(token, true);
  };
  out.field("bos_token", piece(facts.bos)).field("eos_token", piece(facts.eos));
  out.key("modalities").begin_object().field("vision", facts.vision).field("audio", facts.sound).end_object();
  out.field("build_info", options.fingerprint).field("is_sleeping", false).key("meta").raw(meta_of(facts)).end_object();
  return Response::json(200, std::move(text));
}

}  // namespace corral::engine_server
