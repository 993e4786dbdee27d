// Rules for what stands inside the fields of a body; see Field::inside. Internal to protocol/.
#pragma once

#include "base/error.h"
#include "json/peek.h"
#include "protocol/fields.h"

namespace corral::protocol {

inline constexpr double kLarge = 1e6;  // for numbers without a meaningful limit: fits every float

// Token numbers are 32 bits wide in the engine; a larger one would come out as another token.
bool is_token(json::View integer);

Result<> check_messages(json::View messages, const Path& path);
Result<> check_tools(json::View tools, const Path& path);  // tools of unknown types pass
Result<> check_tool_choice(json::View choice, const Path& path);
Result<> check_response_format(json::View format, const Path& path);
Result<> check_suffix(json::View suffix, const Path& path);
Result<> check_stream_options(json::View options, const Path& path);
Result<> check_logit_bias(json::View bias, const Path& path);
Result<> check_wide_logit_bias(json::View bias, const Path& path);  // beyond 100, too
Result<> check_samplers(json::View samplers, const Path& path);
Result<> check_triggers(json::View triggers, const Path& path);
Result<> check_modalities(json::View modalities, const Path& path);
// Fields that mean something elsewhere and can't be had here; a value that asks for nothing passes.
Result<> decline_lora(json::View lora, const Path& path);
Result<> decline_indent(json::View indent, const Path& path);
Result<> decline_budget(json::View budget, const Path& path);
Result<> decline_functions(json::View functions, const Path& path);
Result<> check_inputs(json::View inputs, const Path& path);  // a text, texts, tokens, or lists of tokens: never mixed
Result<> check_prompt(json::View prompt, const Path& path);  // the same, at least one
Result<> check_texts_to_embed(json::View input, const Path& path);  // the same, and no empty text
Result<> check_template_kwargs(json::View kwargs, const Path& path);
Result<> check_documents(json::View documents, const Path& path);
// Between fields of a body.
Result<> check_documents_or_texts(json::View body);
Result<> check_chat(json::View body);
Result<> check_completion(json::View body);
Result<> check_native(json::View body);

}  // namespace corral::protocol
