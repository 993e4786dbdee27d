#include "protocol/requests.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "json/peek.h"
#include "protocol/chat_parts.h"
#include "protocol/fields.h"
#include "protocol/request_parts.h"
#include "protocol/rules/rules.h"

namespace corral::protocol {
namespace {

using json::View;

std::vector<TokenBias> token_biases(View value) {
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  const auto bias_of = [](View bias) {
    return bias.kind() == json::Kind::boolean ? kForbidden : static_cast<float>(bias.as_number());
  };
  std::vector<TokenBias> all;
  value.each_member([&](std::string_view name, View bias) {
    if (bias.is_null()) return;
    if (const auto token = token_number(name)) {
      all.push_back({*token, bias_of(bias)});
    } else {
      all.push_back({std::string(name), bias_of(bias)});
    }
  });
  value.each_element([&](View pair) {
    TokenBias bias;
    bool first = true;
    pair.each_element([&](View part) {
      if (!first) {
        bias.bias = bias_of(part);
      } else if (part.is_string()) {
        bias.token = std::string(part.as_string());
      } else {
        bias.token = static_cast<std::int32_t>(part.as_integer());
      }
      first = false;
    });
    all.push_back(std::move(bias));
  });
  return all;
}

std::vector<Trigger> triggers(View value) {
  std::vector<Trigger> all;
  value.each_element([&](View trigger) {
    const auto token = trigger.find("token");
    all.push_back({.type = static_cast<std::uint32_t>(trigger.find("type").as_integer()),
                   .value = std::string(trigger.find("value").as_string()),
                   .token = token.is_null() ? -1 : static_cast<std::int32_t>(token.as_integer())});
  });
  return all;
}

std::vector<Adapter> adapters(View array) {
  std::vector<Adapter> all;
  array.each_element([&](View one) {
    all.push_back({.id = static_cast<std::uint32_t>(one.find("id").as_integer()),
                   .scale = static_cast<float>(one.find("scale").as_number())});
  });
  return all;
}

std::optional<bool> flag(View value) { return value.is_null() ? std::nullopt : std::optional(value.as_bool()); }

std::optional<std::uint32_t> token_limit(View body) {
  for (const auto* name : {"n_predict", "max_completion_tokens", "max_tokens"}) {
    const auto value = body.find(name);
    if (value.is_null()) continue;
    const auto limit = value.as_integer();
    return limit < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(limit));
  }
  return std::nullopt;
}

void fill_generation(GenerationRequest& request, View body) {
  request.model = body.find("model").as_string();
  request.stream = body.find("stream").as_bool();
  const auto streaming = body.find("stream_options");
  request.include_usage = streaming.find("include_usage").as_bool();
  request.prompt_usage = streaming.find("prompt_usage").as_bool();
  request.each_token = streaming.find("each_token").as_bool();
  request.max_tokens = token_limit(body);
  request.stop = strings(body.find("stop"));
  std::erase(request.stop, std::string());
  fill_sampling(request.sampling, body);
  request.logit_bias = token_biases(body.find("logit_bias"));
  request.ignore_eos = body.find("ignore_eos").as_bool();
  request.grammar = body.find("grammar").as_string();
  request.json_schema = answer_schema(body);
  request.return_tokens = body.find("return_tokens").as_bool();
  request.context_shift = body.find("context_shift").as_bool();
  request.n_keep = static_cast<std::int32_t>(body.find("n_keep").as_integer());
  request.n_discard = static_cast<std::uint32_t>(body.find("n_discard").as_integer());
  if (const auto lora = body.find("lora"); !lora.empty()) request.adapters = adapters(lora);
  request.cache_prompt = flag(body.find("cache_prompt")).value_or(request.cache_prompt);
  request.n = answers_to_each(body);
  if (const auto wanted = body.find("n_probs"); !wanted.is_null()) {
    request.n_probs = static_cast<std::uint32_t>(wanted.as_integer());
    request.logprobs = request.n_probs > 0;
  }
  request.timings_per_token = body.find("timings_per_token").as_bool();
  request.ping_interval = ping_interval(body.find("sse_ping_interval"));
  request.return_progress = body.find("return_progress").as_bool();
  request.verbose = body.find("verbose").as_bool();
  request.max_predict_ms =
      static_cast<std::uint32_t>(std::max<std::int64_t>(0, body.find("t_max_predict_ms").as_integer()));
  request.preserved_tokens = strings(body.find("preserved_tokens"));
  request.grammar_lazy = body.find("grammar_lazy").as_bool();
  request.grammar_triggers = triggers(body.find("grammar_triggers"));
  request.post_sampling_probs = body.find("post_sampling_probs").as_bool();
}

void fill_tools(ChatRequest& request, View body) {
  const auto chosen = chosen_tools(body.find("tool_choice"));
  request.tool_choice = chosen.mode;
  request.tools = tools_text(body.find("tools"), chosen.names, request.tool_places);
  request.parallel_tool_calls = flag(body.find("parallel_tool_calls"));
  // A function that tool_choice names is called once.
  if (!request.parallel_tool_calls && body.find("tool_choice").find("type").as_string() == "function") {
    request.parallel_tool_calls = false;
  }
}

Continuation continuation(View value) {
  if (value.as_string() == "content") return Continuation::content;
  if (value.as_string() == "reasoning_content") return Continuation::reasoning;
  return value.as_bool() ? Continuation::automatic : Continuation::unsaid;
}

bool has_media(View messages) {
  bool found = false;
  messages.each_element([&](View message) {
    message.find("content").each_element([&](View part) {
      const auto type = part.find("type").as_string();
      found = found || (type != "text" && type != "refusal");
    });
    return !found;
  });
  return found;
}

std::size_t text_bytes(View messages) {
  std::size_t bytes = 0;
  messages.each_element([&](View message) {
    const auto content = message.find("content");
    bytes += content.as_string().size();
    content.each_element([&](View part) { bytes += part.find("text").as_string().size(); });
  });
  return bytes;
}

Result<json::Peek> open(const std::string& body, const FieldTable& table) {
  auto peek = json::Peek::open(body);
  if (!peek) return peek;
  if (auto fine = table.check(peek->root()); !fine) return std::unexpected(std::move(fine.error()));
  return peek;
}

}  // namespace

Result<ChatRequest> parse_chat_request(const std::string& text) {
  const auto peek = open(text, chat_fields());
  if (!peek) return std::unexpected(peek.error());
  const auto body = peek->root();
  ChatRequest request;
  fill_generation(request, body);
  fill_tools(request, body);

  const auto messages = body.find("messages");
  request.messages = messages_text(messages);
  request.text_bytes = text_bytes(messages);
  request.has_media = has_media(messages);
  body.find("chat_template_kwargs").each_member([&](std::string_view name, View value) {
    if (!value.is_null()) request.template_kwargs.emplace_back(std::string(name), value.text());
  });
  request.add_generation_prompt = flag(body.find("add_generation_prompt"));
  request.continuation = continuation(body.find("continue_final_message"));
  request.echo = body.find("echo").as_bool();
  request.store = body.find("store").as_bool();
  request.enable_thinking = flag(body.find("enable_thinking"));
  request.reasoning_effort = body.find("reasoning_effort").as_string();
  request.reasoning_format = body.find("reasoning_format").as_string();
  if (body.find("logprobs").as_bool()) {
    request.logprobs = true;
    request.n_probs = static_cast<std::uint32_t>(body.find("top_logprobs").as_integer());
  }
  return request;
}

namespace {

CompletionRequest native_of(View body) {
  CompletionRequest request;
  request.native = true;
  fill_generation(request, body);
  if (const auto wanted = body.find("logprobs"); body.find("n_probs").is_null() && !wanted.is_null()) {
    request.n_probs = static_cast<std::uint32_t>(wanted.as_integer());
    request.logprobs = request.n_probs > 0;
  }
  request.response_fields = strings(body.find("response_fields"));
  return request;
}

}  // namespace

Result<CompletionRequest> parse_native_request(const std::string& text) {
  const auto peek = open(text, native_fields());
  if (!peek) return std::unexpected(peek.error());
  auto request = native_of(peek->root());
  request.prompts = inputs(peek->root().find("prompt"));
  return request;
}

Result<CompletionRequest> parse_infill_request(const std::string& text) {
  const auto peek = open(text, infill_fields());
  if (!peek) return std::unexpected(peek.error());
  const auto body = peek->root();
  auto request = native_of(body);
  auto& gap = request.infill.emplace();
  gap.prefix = input(body.find("input_prefix"));
  gap.suffix = input(body.find("input_suffix"));
  gap.begun = body.find("prompt").as_string();
  body.find("input_extra").each_element([&](View chunk) {
    gap.extra.push_back({std::string(chunk.find("filename").as_string()), std::string(chunk.find("text").as_string())});
  });
  return request;
}

Result<CompletionRequest> parse_completion_request(const std::string& text) {
  const auto peek = open(text, completion_fields());
  if (!peek) return std::unexpected(peek.error());
  const auto body = peek->root();
  CompletionRequest request;
  fill_generation(request, body);
  request.prompts = inputs(body.find("prompt"));
  if (const auto wanted = body.find("logprobs"); !wanted.is_null()) {
    request.logprobs = request.legacy_logprobs = true;
    request.n_probs = static_cast<std::uint32_t>(wanted.as_integer());
  }
  request.echo = body.find("echo").as_bool();
  if (const auto suffix = body.find("suffix").as_string(); !suffix.empty())
    request.infill = Infill{.prefix = request.prompts.front(), .suffix = std::string(suffix), .whole = true};
  return request;
}

namespace {

EmbeddingRequest embedding_of(json::View body) {
  EmbeddingRequest request;
  const auto input = body.find("input");
  request.model = body.find("model").as_string();
  request.inputs = inputs(input.is_null() ? body.find("content") : input);
  request.base64 = body.find("encoding_format").as_string() == "base64";
  if (const auto dimensions = body.find("dimensions"); !dimensions.is_null()) {
    request.dimensions = static_cast<std::uint32_t>(dimensions.as_integer());
  }
  request.truncate = body.find("truncate").as_bool();
  if (const auto norm = body.find("embd_normalize"); !norm.is_null()) {
    request.norm = static_cast<std::int32_t>(norm.as_integer());
  }
  return request;
}

}  // namespace

Result<EmbeddingRequest> parse_embedding_request(const std::string& text) {
  const auto peek = open(text, embedding_fields());
  if (!peek) return std::unexpected(peek.error());
  return embedding_of(peek->root());
}

Result<EmbeddingRequest> parse_native_embedding_request(const std::string& text) {
  const auto peek = open(text, native_embedding_fields());
  if (!peek) return std::unexpected(peek.error());
  return embedding_of(peek->root());
}

Result<RerankRequest> parse_rerank_request(const std::string& text) {
  const auto peek = open(text, rerank_fields());
  if (!peek) return std::unexpected(peek.error());
  const auto body = peek->root();
  RerankRequest request;
  request.model = body.find("model").as_string();
  request.query = body.find("query").as_string();
  const auto texts = body.find("texts");
  request.as_list = !texts.is_null();
  (request.as_list ? texts : body.find("documents")).each_element([&](View document) {
    request.documents.emplace_back(document.is_object() ? document.find("text").as_string() : document.as_string());
  });
  if (const auto top = body.find("top_n"); !top.is_null()) {
    request.top_n = static_cast<std::uint32_t>(top.as_integer());
  }
  request.return_documents = body.find("return_documents").as_bool() || body.find("return_text").as_bool();
  request.raw_scores = flag(body.find("raw_scores")).value_or(request.raw_scores);
  return request;
}

Result<TokenizeRequest> parse_tokenize_request(const std::string& text) {
  const auto peek = open(text, tokenize_fields());
  if (!peek) return std::unexpected(peek.error());
  const auto body = peek->root();
  TokenizeRequest request;
  request.content = body.find("content").as_string();
  request.add_special = flag(body.find("add_special")).value_or(request.add_special);
  request.parse_special = flag(body.find("parse_special")).value_or(request.parse_special);
  request.with_pieces = flag(body.find("with_pieces")).value_or(request.with_pieces);
  return request;
}

Result<std::vector<Adapter>> parse_adapters(const std::string& text) {
  const auto peek = json::Peek::open(text);
  if (!peek) return std::unexpected(peek.error());
  static constexpr Field kList{.name = "", .kinds = kArray, .elements = kObject, .inside = check_lora};
  const Path root, place{&root, "adapters"};
  if (auto fine = check_value(peek->root(), kList, place); !fine) return std::unexpected(std::move(fine.error()));
  return adapters(peek->root());
}

Result<DetokenizeRequest> parse_detokenize_request(const std::string& text) {
  const auto peek = open(text, detokenize_fields());
  if (!peek) return std::unexpected(peek.error());
  return DetokenizeRequest{integers(peek->root().find("tokens"))};
}

}  // namespace corral::protocol
