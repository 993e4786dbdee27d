// "context" of /api/generate: what an answer gives a client to send with its next prompt, so that the model knows what
// was said. To clients it is a list of numbers that means nothing to them. Here it is the conversation itself, packed:
// so it needs no tokenizer, holds for every model and every machine that may answer next, and nothing is kept for it.
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
// Numbers. They are packed and written on the loop; of a longer conversation none is told.
inline constexpr std::size_t kMaxContext = 64 << 10;
inline constexpr std::size_t kMaxConversation = 3 * (kMaxContext - 2);

// `messages`: JSON texts of messages with commas between. As the value of a key.
void write_context(json::Writer& out, std::string_view messages);
// The same text again; empty for an empty list. Errors: protocol::errc::bad_value for a list that isn't one of these.
Result<std::string> read_context(json::View context);

// {"role":...,"content":...}
std::string message(std::string_view role, std::string_view content);

}  // namespace corral::dialects::ollama
