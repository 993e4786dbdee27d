// Restricts the chat template library's grammars for tool calls. Pure functions.
#pragma once

#include <string>

namespace corral::engine_server {

// `grammar` is the library's for a request that requires a call. Removes from its first rule the text that the model
// may write before the call: a model that never ends this text would fill its context. Reasoning stays.
void forbid_text_before_calls(std::string& grammar);

// Allows one call: some of the library's grammars allow more, despite its options.
void allow_one_call(std::string& grammar);

}  // namespace corral::engine_server
