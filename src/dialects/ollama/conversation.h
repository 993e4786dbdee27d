// "context" of /api/generate: the client sends the context of an answer with its next prompt, so that the model has the
// conversation. For clients it is an opaque list of numbers. Here it is the packed text of the conversation. So it
// needs no tokenizer, works for every model and every machine, and the server stores nothing.
//
//   kMark, then three bytes of JSON in each number: [{"role":"user","content":"..."},{"role":"assistant",...}]
//
// Pure; safe on every thread.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "json/peek.h"
#include "json/writer.h"

namespace corral::dialects::ollama {

inline constexpr std::int64_t kMark = 0x636F7272;  // "corr"
// Maximum count of numbers, which are packed and written on the loop. A longer conversation has no context.
inline constexpr std::size_t kMaxContext = 64 << 10;
inline constexpr std::size_t kMaxConversation = 3 * (kMaxContext - 2);

// `messages`: JSON texts of messages, separated by commas. Writes the value of a key.
void write_context(json::Writer& out, std::string_view messages);
// The text of `messages`; empty for an empty list. Errors: protocol::errc::bad_value for any other list.
Result<std::string> read_context(json::View context);

// {"role":...,"content":...}
std::string message(std::string_view role, std::string_view content);

}  // namespace corral::dialects::ollama
