// Rules for the content of fields of a body; see Field::inside. Internal to protocol/.
#pragma once

#include "base/error.h"
#include "json/peek.h"
#include "protocol/fields.h"

namespace corral::protocol {

inline constexpr double kLarge = 1e6;  // for numbers without a meaningful limit: fits every float

// Of one request. The time for templates and grammars grows with these numbers.
inline constexpr std::size_t kMaxMessages = 4096;
inline constexpr std::size_t kMaxMessageValues = 100'000;          // JSON values, of all messages together
inline constexpr std::size_t kMaxMessageExtras = 4 * 1024 * 1024;  // bytes of JSON outside of the content
inline constexpr std::size_t kMaxTemplateBytes = 64 * 1024;        // of chat_template_kwargs
inline constexpr std::size_t kMaxParts = 1024;                     // of one message
inline constexpr std::size_t kMaxCalls = 256;                      // of one message
inline constexpr std::size_t kMaxTools = 512;
inline constexpr std::size_t kMaxToolBytes = 512 * 1024;  // of all of them
inline constexpr std::size_t kMaxFunctionName = 256;

// Token numbers have 32 bits in the engine; a larger one would become another token.
bool is_token(json::View integer);

// Checks each element of an array, up to the first invalid one.
Result<> check_each(json::View array, const Path& path, Result<> (*check_one)(json::View, const Path&));

// Limits of a JSON schema; measured in docs/modules/engine_server.md.
struct SchemaLimits {
  static constexpr std::size_t kBytes = 512 * 1024;
  static constexpr std::size_t kNodes = 4096;
  static constexpr std::size_t kDepth = 32;
  static constexpr std::size_t kTypes = 8;
  static constexpr std::size_t kNames = 512;       // bytes, along one path through the schema
  static constexpr std::size_t kProperties = 512;  // of one object
  static constexpr std::size_t kOptional = 128;    // parameters of a tool
  static constexpr std::size_t kValues = 2048;     // in all enums
  static constexpr std::size_t kPattern = 1024;
  static constexpr std::size_t kRef = 256;
  static constexpr std::size_t kRefs = 256;
  static constexpr std::size_t kHops = 16;  // from a $ref to a schema without one
};
Result<> check_schema(json::View schema, const Path& path);
// Of a tool: the library that makes grammars of tool calls takes the cube of the time for optional parameters.
Result<> check_tool_schema(json::View schema, const Path& path);
// For a schema with `strict`: all its keywords can be enforced, as far as that is known without its grammar.
Result<> check_strict_schema(json::View schema, const Path& path);

Result<> check_messages(json::View messages, const Path& path);
Result<> check_tools(json::View tools, const Path& path);  // tools of unknown types pass
Result<> check_tool_choice(json::View choice, const Path& path);
Result<> check_response_format(json::View format, const Path& path);
// Adapters of one load.
inline constexpr double kMaxAdapters = 256;
Result<> check_lora(json::View lora, const Path& path);
Result<> check_stream_options(json::View options, const Path& path);
Result<> check_logit_bias(json::View bias, const Path& path);
Result<> check_wide_logit_bias(json::View bias, const Path& path);  // beyond 100, too
Result<> check_samplers(json::View samplers, const Path& path);
Result<> check_triggers(json::View triggers, const Path& path);
Result<> check_modalities(json::View modalities, const Path& path);
// Fields that have an effect elsewhere and are unsupported here; a value without effect passes.
Result<> decline_indent(json::View indent, const Path& path);
Result<> decline_budget(json::View budget, const Path& path);
Result<> decline_functions(json::View functions, const Path& path);
// One prompt or several, in llama-server's forms (prompt_rules.cpp).
Result<> check_prompt(json::View prompt, const Path& path);
Result<> check_texts_to_embed(json::View input, const Path& path);  // the same, and no empty text
Result<> check_plain_prompt(json::View prompt, const Path& path);   // one prompt without an object around it
Result<> check_tokens(json::View tokens, const Path& path);
Result<> check_extra(json::View extra, const Path& path);  // of infill
Result<> check_template_kwargs(json::View kwargs, const Path& path);
Result<> check_documents(json::View documents, const Path& path);
// Between fields of a body.
Result<> check_documents_or_texts(json::View body);
Result<> check_chat(json::View body);
Result<> check_completion(json::View body);
Result<> check_native(json::View body);

}  // namespace corral::protocol
