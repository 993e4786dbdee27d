// Parses an answer of a server with OpenAI's API: one event of a stream, or a whole answer. For the command line, and
// for dialects that translate answers. Pure; safe on every thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "protocol/answers/answers.h"

namespace corral::protocol {

// A piece of one tool call: id and name come once, arguments in pieces.
struct ToolPiece {
  std::uint32_t index = 0;  // of the call, among the choice's
  ToolCall call = {};
};

struct ChoicePiece {
  std::uint32_t index = 0;
  std::string content = {};  // of a message, or the text of a completion
  std::string reasoning = {};
  std::vector<ToolPiece> tools = {};
  std::string finish_reason = {};  // empty: not ended
  std::string stopping_word = {};  // the request's stop string that ended it
  std::string logprobs = {};       // of its tokens: the JSON text of a non-empty array
};

struct AnswerPiece {
  std::string id = {};       // of the answer
  std::string model = {};    // the answering model
  std::int64_t created = 0;  // seconds since 1970
  std::vector<ChoicePiece> choices = {};
  std::optional<Usage> usage = {};  // of a count of tokens, too
  std::optional<Timings> timings = {};
  std::vector<std::string> embeddings = {};  // JSON texts of arrays of numbers, in the order of the inputs
  std::optional<Error> failure = {};         // the error; nothing follows
};

// `text`: the data of an event, or a body. Missing members stay empty. Errors: json::errc::malformed.
Result<AnswerPiece> read_answer(const std::string& text);

}  // namespace corral::protocol
