// The chat template of the generated models: ChatML with tools, in Jinja.
#pragma once

namespace corral::test_models {

// Roles system, user, assistant (with tool_calls) and tool; `tools`; `add_generation_prompt`. A call is written
// <tool_call>\n{"name": ..., "arguments": {...}}\n</tool_call>, as Qwen's models do.
extern const char* const kChatTemplate;

}  // namespace corral::test_models
