#include "engine_server/generation.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "engine_server/adapters.h"
#include "engine_server/errors.h"
#include "engine_server/preparation/chat_media.h"
#include "engine_server/preparation/infill.h"
#include "protocol/errors.h"

namespace corral::engine_server {
namespace {

using engine::InferenceEngine;
using engine::Token;

template <typename T>
void assign(T& target, const std::optional<T>& given) {
  if (given) target = *given;
}

engine::SamplingOptions sampling_of(const InferenceEngine& service, const protocol::Sampling& given) {
  auto sampling = service.default_sampling();
  assign(sampling.temperature, given.temperature);
  assign(sampling.top_k, given.top_k);
  assign(sampling.top_p, given.top_p);
  assign(sampling.min_p, given.min_p);
  assign(sampling.typical_p, given.typical_p);
  assign(sampling.top_n_sigma, given.top_n_sigma);
  assign(sampling.xtc_probability, given.xtc_probability);
  assign(sampling.xtc_threshold, given.xtc_threshold);
  assign(sampling.dynatemp_range, given.dynatemp_range);
  assign(sampling.dynatemp_exponent, given.dynatemp_exponent);
  assign(sampling.penalty_last_n, given.repeat_last_n);
  assign(sampling.repeat_penalty, given.repeat_penalty);
  assign(sampling.frequency_penalty, given.frequency_penalty);
  assign(sampling.presence_penalty, given.presence_penalty);
  assign(sampling.dry_multiplier, given.dry_multiplier);
  assign(sampling.dry_base, given.dry_base);
  assign(sampling.dry_allowed_length, given.dry_allowed_length);
  assign(sampling.dry_penalty_last_n, given.dry_penalty_last_n);
  assign(sampling.dry_sequence_breakers, given.dry_sequence_breakers);
  assign(sampling.samplers, given.samplers);
  assign(sampling.adaptive_target, given.adaptive_target);
  assign(sampling.adaptive_decay, given.adaptive_decay);
  assign(sampling.mirostat, given.mirostat);
  assign(sampling.mirostat_tau, given.mirostat_tau);
  assign(sampling.mirostat_eta, given.mirostat_eta);
  assign(sampling.min_keep, given.min_keep);
  if (given.seed) sampling.seed = given.seed;
  return sampling;
}

// Tokens the vocabulary doesn't have are left out, as other servers do: a bias is often made for another model.
std::vector<engine::LogitBias> biases_of(const InferenceEngine& service,
                                         const std::vector<protocol::TokenBias>& given) {
  std::vector<engine::LogitBias> biases;
  for (const auto& bias : given) {
    if (const auto* token = std::get_if<std::int32_t>(&bias.token)) {
      if (*token >= 0 && static_cast<std::uint32_t>(*token) < service.facts().n_vocab) {
        biases.push_back({*token, bias.bias});
      }
      continue;
    }
    const auto tokens = service.tokenize(std::get<std::string>(bias.token), false, false);
    if (!tokens) continue;
    for (const auto token : *tokens) biases.push_back({token, bias.bias});
  }
  return biases;
}

std::optional<Token> single_token(const InferenceEngine& service, std::string_view text) {
  const auto tokens = service.tokenize(text, false, true);
  return tokens && tokens->size() == 1 ? std::optional(tokens->front()) : std::nullopt;
}

// A pattern of the whole answer is treated like others: it matches between any texts.
std::string without_frame(std::string pattern) {
  if (pattern.starts_with('^')) pattern.erase(0, 1);
  if (pattern.ends_with('$') && !pattern.ends_with("\\$")) pattern.pop_back();
  bool open_start = false;
  for (const std::string_view any : {"[\\s\\S]*?", "[\\s\\S]*", ".*?", ".*"}) {
    if (open_start || !pattern.starts_with(any)) continue;
    pattern.erase(0, any.size());
    open_start = true;
  }
  for (const std::string_view any : {"[\\s\\S]*", ".*"}) {
    if (!pattern.ends_with(any)) continue;
    pattern.erase(pattern.size() - any.size());
    return open_start ? pattern : "^(?:" + pattern + ")";
  }
  return open_start ? "(?:" + pattern + ")$" : "^(?:" + pattern + ")$";
}

void add_trigger(const InferenceEngine& service, const GrammarTrigger& trigger, engine::GrammarOptions& grammar) {
  switch (trigger.kind) {
    case GrammarTrigger::Kind::token:
      grammar.trigger_tokens.push_back(trigger.token);
      break;
    case GrammarTrigger::Kind::pattern:
      grammar.trigger_patterns.push_back(trigger.text);
      break;
    case GrammarTrigger::Kind::word:
      if (const auto token = single_token(service, trigger.text)) {
        grammar.trigger_tokens.push_back(*token);
      } else {
        grammar.trigger_words.push_back(trigger.text);
      }
      break;
    case GrammarTrigger::Kind::full_pattern:
      grammar.trigger_patterns.push_back(without_frame(trigger.text));
      break;
  }
}

// Triggers of the request's own grammar.
Result<> add_triggers(const InferenceEngine& service, const protocol::GenerationRequest& request,
                      engine::GrammarOptions& grammar) {
  static constexpr GrammarTrigger::Kind kKinds[] = {GrammarTrigger::Kind::token, GrammarTrigger::Kind::word,
                                                    GrammarTrigger::Kind::pattern, GrammarTrigger::Kind::full_pattern};
  if (!request.grammar_lazy || request.grammar.empty()) return {};
  grammar.lazy = true;
  for (const auto& trigger : request.grammar_triggers) {
    const auto kind = kKinds[trigger.type];
    if (kind == GrammarTrigger::Kind::token &&
        (trigger.token < 0 || static_cast<std::uint32_t>(trigger.token) >= service.facts().n_vocab)) {
      return fail(protocol::errc::bad_value,
                  fmt::format("'grammar_triggers' has the token {}, but this model's vocabulary ends at {}",
                              trigger.token, service.facts().n_vocab - 1),
                  "grammar_triggers");
    }
    add_trigger(service, {.kind = kind, .text = trigger.value, .token = trigger.token}, grammar);
  }
  return {};
}

// The generation prompt's tokens, which the grammar has seen already; without the space that some tokenizers put in
// front of a special token.
std::vector<Token> prefill_of(const InferenceEngine& service, const std::string& generation_prompt) {
  auto tokens = service.tokenize(generation_prompt, false, true).value_or(std::vector<Token>());
  const auto is_space = [](std::string_view text) {
    return !text.empty() && std::string_view(" \t\n\r\v\f").find(text.front()) != std::string_view::npos;
  };
  if (!tokens.empty() && is_space(service.piece(tokens.front(), true)) && !is_space(generation_prompt)) {
    tokens.erase(tokens.begin());
  }
  return tokens;
}

std::optional<engine::GrammarOptions> grammar_of(const InferenceEngine& service, RenderedChat& chat) {
  if (chat.grammar.empty()) return std::nullopt;
  engine::GrammarOptions grammar;
  grammar.gbnf = std::move(chat.grammar);
  grammar.lazy = chat.grammar_lazy;
  for (const auto& trigger : chat.triggers) add_trigger(service, trigger, grammar);
  if (!grammar.lazy && chat.grammar_has_prefill) grammar.prefill = prefill_of(service, chat.generation_prompt);
  return grammar;
}

Result<> fill_options(const InferenceEngine& service, const protocol::GenerationRequest& request, Prepared& prepared) {
  auto& options = prepared.options;
  if (request.max_tokens) options.max_new_tokens = *request.max_tokens;
  options.sampling = sampling_of(service, request.sampling);
  options.sampling.logit_bias = biases_of(service, request.logit_bias);
  options.sampling.ignore_eos = request.ignore_eos;
  options.stop.insert(options.stop.end(), request.stop.begin(), request.stop.end());
  options.n_probs = request.logprobs ? std::max(1u, request.n_probs) : 0;
  options.progress = true;  // counts the tokens of requests whose clients leave
  options.each_token = request.stream && (request.each_token || request.timings_per_token || request.logprobs);
  options.prompt_progress = request.stream && (request.return_progress || request.prompt_usage);
  options.max_predict = Millis(request.max_predict_ms);
  for (const auto& text : request.preserved_tokens) {
    if (const auto token = single_token(service, text)) options.preserved_tokens.push_back(*token);
  }
  options.post_sampling_probs = request.post_sampling_probs;
  prepared.session.share_prefix = request.cache_prompt;
  if (request.context_shift) {
    options.shift = engine::ContextShift{.keep = request.n_keep, .discard = request.n_discard};
    if (!request.max_tokens) options.max_new_tokens = service.facts().n_ctx;
  }
  if (!request.adapters) return {};
  auto scales = adapter_scales(service.facts(), *request.adapters, "lora");
  if (!scales) return std::unexpected(std::move(scales.error()));
  prepared.session.adapters = std::move(*scales);
  return {};
}

std::string text_of(const InferenceEngine& service, const protocol::Input& input) {
  if (const auto* text = std::get_if<std::string>(&input)) return *text;
  if (const auto* tokens = std::get_if<std::vector<Token>>(&input)) return service.detokenize(*tokens, true);
  std::string all;
  for (const auto& part : std::get<std::vector<protocol::InputPart>>(input))
    all += std::visit([&](const auto& given) { return text_of(service, protocol::Input(given)); }, part);
  return all;
}

// A prompt must leave room for at least one token of the answer.
Result<> check_length(const InferenceEngine& service, std::size_t tokens, const std::string& param) {
  const auto limit = service.facts().n_ctx, trained = service.facts().n_ctx_train;
  if (tokens == 0) {
    return fail(protocol::errc::bad_value,
                fmt::format("'{}' has no tokens, so there is nothing to continue: give at least one", param), param);
  }
  if (tokens < limit) return {};
  const auto way_out = limit < trained
                           ? fmt::format("shorten it or load the model with a larger ctx_size, up to {}", trained)
                           : std::string("this is the trained context of the model, so shorten it");
  auto text = fmt::format(
      "'{}' makes a prompt of {} tokens and needs a context of at least {}, which exceeds the available context size "
      "of {}: {}",
      param, tokens, tokens + 1, limit, way_out);
  return std::unexpected(
      protocol::context_exceeded({.n_prompt_tokens = tokens, .n_ctx = limit}, std::move(text), param));
}

}  // namespace

// Of schemas, tools and grammars: above this it may take as long as a large body.
constexpr std::size_t kShortGrammar = 2048;
constexpr std::uint32_t kFewAnswers = 4;
constexpr std::size_t kFewMessageBytes = 64 * 1024;

bool takes_long(const protocol::ChatRequest& request) {
  return request.tools.size() + request.json_schema.text.size() + request.grammar.size() > kShortGrammar ||
         request.n > kFewAnswers || request.messages.size() > kFewMessageBytes || request.has_media;
}

// The query is tokenised with each document.
bool takes_long(const protocol::RerankRequest& request) {
  return request.query.size() * request.documents.size() > kFewMessageBytes;
}

bool takes_long(const protocol::CompletionRequest& request) {
  return request.json_schema.text.size() + request.grammar.size() > kShortGrammar ||
         request.n * request.prompts.size() > kFewAnswers || request.infill.has_value();
}

// Builds the grammar once for all answers. `own`: the request contains it; otherwise it was made of `source`.
Result<> share_grammar(const InferenceEngine& service, engine::GenerateOptions& options, bool own,
                       std::string_view source) {
  if (!options.grammar) return {};
  auto shared = service.prepare_grammar(*options.grammar);
  if (shared) {
    options.grammar->shared = std::move(*shared);
    return {};
  }
  if (own || shared.error().param != "grammar") return std::unexpected(std::move(shared.error()));
  return fail(protocol::errc::bad_value,
              fmt::format("'{}' gives an invalid grammar: {}", source, shared.error().message), std::string(source));
}

Result<Prepared> prepare_chat(const PromptTokens& tokens, const ChatTemplate& chat_template,
                              protocol::ChatRequest& request, const CancelToken& stop) {
  const auto& service = tokens.service();
  if (auto fits = tokens.check_bytes(request.text_bytes, "messages"); !fits)
    return std::unexpected(std::move(fits.error()));
  if (stop.wanted()) return stopped();
  const auto files = take_media(request, service.facts(), media_marker());
  if (!files) return std::unexpected(files.error());
  auto chat = chat_template.render(request);
  if (!chat) return std::unexpected(std::move(chat.error()));
  if (stop.wanted()) return stopped();
  Prepared prepared;
  if (files->empty()) {
    auto prompt = tokens.tokenize(chat->prompt, service.facts().n_ctx, "messages", stop);
    if (!prompt) return std::unexpected(std::move(prompt.error()));
    prepared.prompt = std::move(*prompt);
  } else {
    auto prompt = tokens_with_media(tokens, chat->prompt, *files, service.facts().n_ctx, stop);
    if (!prompt) return std::unexpected(std::move(prompt.error()));
    prepared.prompt = std::move(prompt->tokens);
    prepared.media = std::move(prompt->media);
  }
  if (auto fine = check_length(service, prepared.prompt.size(), "messages"); !fine) {
    return std::unexpected(std::move(fine.error()));
  }
  if (auto filled = fill_options(service, request, prepared); !filled)
    return std::unexpected(std::move(filled.error()));
  prepared.options.grammar = grammar_of(service, *chat);
  if (prepared.options.grammar) {
    if (auto fine = add_triggers(service, request, *prepared.options.grammar); !fine)
      return std::unexpected(std::move(fine.error()));
  }
  if (stop.wanted()) return stopped();
  const std::string source = request.json_schema.text.empty() ? "tools" : request.json_schema.path;
  if (auto fine = share_grammar(service, prepared.options, !request.grammar.empty(), source); !fine)
    return std::unexpected(std::move(fine.error()));
  for (auto& text : chat->stops) prepared.options.stop.push_back(std::move(text));
  for (const auto& text : chat->preserved_tokens) {
    if (const auto token = single_token(service, text)) prepared.options.preserved_tokens.push_back(*token);
  }
  prepared.parser = std::move(chat->parser);
  prepared.warnings = std::move(chat->warnings);
  if (request.verbose && !request.stream) {
    prepared.native = std::make_shared<const NativeFacts>(NativeFacts{
        .prompt = service.detokenize(prepared.prompt, true),
        .settings =
            std::make_shared<SettingsText>(prepared.options, request, service.facts().n_ctx, service.end_tokens())});
  }
  return prepared;
}

Result<std::vector<Prepared>> prepare_completion(const PromptTokens& tokens, const protocol::CompletionRequest& request,
                                                 const CancelToken& stop) {
  const auto& service = tokens.service();
  engine::GenerateOptions following;
  auto grammar = request.grammar;
  Warnings warnings;
  if (!request.json_schema.text.empty()) {
    auto made = schema_grammar(request.json_schema, warnings);
    if (!made) return std::unexpected(std::move(made.error()));
    grammar = std::move(*made);
  }
  if (!grammar.empty()) {
    following.grammar.emplace().gbnf = std::move(grammar);
    if (auto fine = add_triggers(service, request, *following.grammar); !fine)
      return std::unexpected(std::move(fine.error()));
    if (auto fine = share_grammar(service, following, !request.grammar.empty(), request.json_schema.path); !fine)
      return std::unexpected(std::move(fine.error()));
  }
  std::vector<Prepared> all;
  std::shared_ptr<const SettingsText> settings;
  const auto prompts = request.infill ? 1 : request.prompts.size();
  for (std::size_t i = 0; i < prompts; ++i) {
    if (stop.wanted()) return stopped();
    auto& prepared = all.emplace_back();
    const auto name = prompts == 1 ? "prompt" : fmt::format("prompt[{}]", i);
    auto prompt = request.infill ? infill_tokens(tokens, *request.infill, stop)
                                 : tokens.read(request.prompts[i], {.max = service.facts().n_ctx}, name, stop);
    if (!prompt) return std::unexpected(std::move(prompt.error()));
    if (auto fine = check_length(service, prompt->size(), name); !fine) {
      return std::unexpected(std::move(fine.error()));
    }
    prepared.prompt = std::move(*prompt);
    if (auto filled = fill_options(service, request, prepared); !filled)
      return std::unexpected(std::move(filled.error()));
    if (request.echo) prepared.echo = text_of(service, request.prompts[i]);
    prepared.options.grammar = following.grammar;
    prepared.warnings = warnings;
    if (request.native) {
      if (!settings)
        settings =
            std::make_shared<SettingsText>(prepared.options, request, service.facts().n_ctx, service.end_tokens());
      prepared.native =
          std::make_shared<const NativeFacts>(NativeFacts{.prompt = service.detokenize(prepared.prompt, true),
                                                          .settings = settings,
                                                          .response_fields = request.response_fields,
                                                          .with_timings = request.timings_per_token});
    }
  }
  return all;
}

Result<Generation> Generation::start(const std::shared_ptr<InferenceEngine>& service, const Prepared& prompt,
                                     engine::GenerateOptions options) {
  if (!service->has_weights()) {
    if (auto fine = service->check(options); !fine) return std::unexpected(std::move(fine.error()));
  }
  const auto session = service->create_session(prompt.prompt, prompt.session, prompt.media);
  if (!session) return std::unexpected(session.error());
  Generation generation(service, *session);
  auto stream = service->generate_stream(*session, std::move(options));
  if (!stream) return std::unexpected(std::move(stream.error()));
  generation.stream_ = std::move(*stream);
  return generation;
}

Result<std::vector<Choice>> start_choices(const std::shared_ptr<InferenceEngine>& service,
                                          std::vector<Prepared> prompts, std::uint32_t n, const CancelToken& stop) {
  std::vector<Choice> choices;
  for (auto& prompt : prompts) {
    for (std::uint32_t i = 0; i < n; ++i) {
      if (stop.wanted()) return stopped();
      auto options = prompt.options;
      if (options.sampling.seed) *options.sampling.seed += i;
      options.prompt_progress = options.prompt_progress && i == 0;
      const auto seed = options.sampling.seed;
      auto generation = Generation::start(service, prompt, std::move(options));
      if (!generation) return std::unexpected(std::move(generation.error()));
      choices.push_back({std::move(*generation), i == 0, prompt.echo, prompt.parser, prompt.native, seed});
    }
  }
  return choices;
}

Generation& Generation::operator=(Generation&& other) noexcept {
  std::swap(service_, other.service_);
  std::swap(session_, other.session_);
  std::swap(stream_, other.stream_);
  return *this;
}

Generation::~Generation() {
  stream_ = {};  // cancels what still runs
  if (const auto service = service_.lock()) (void)service->end_session(session_);
}

}  // namespace corral::engine_server
