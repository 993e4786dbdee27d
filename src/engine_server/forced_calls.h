// What the grammars of the chat template library leave open of calls of tools. Pure functions.
#pragma once

#include <string>

namespace corral::engine_server {

// `grammar` is one that the chat template library made for a request that requires a call. Takes out of its first rule
// the text that the model may write before the call: without an end to that text, a model that only wants to talk does
// so until its context is full. Thoughts stay.
void forbid_text_before_calls(std::string& grammar);

// One call is enough: some of the library's grammars allow more, whatever it is told.
void allow_one_call(std::string& grammar);

}  // namespace corral::engine_server
