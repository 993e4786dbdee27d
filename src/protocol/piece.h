// What comes of an answer, read into a value: one event of a stream, or a whole answer. For whoever reads what a
// server of OpenAI's API says: the command line, and dialects that say it in another way. Pure; safe on every thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "protocol/answers.h"

namespace corral::protocol {

// Of one call of a tool: id and name come once, arguments in pieces.
struct ToolPiece {
  std::uint32_t index = 0;  // of the call, among the choice's
  ToolCall call = {};
};

struct ChoicePiece {
  std::uint32_t index = 0;
  std::string content = {};  // of a message, or the text of a completion
  std::string reasoning = {};
  std::vector<ToolPiece> tools = {};
  std::string finish_reason = {};  // empty: more comes
  std::string stopping_word = {};  // which of the request's stop strings ended it
  std::string logprobs = {};       // of its tokens: the JSON text of an array that isn't empty
};

struct AnswerPiece {
  std::string id = {};       // of the answer
  std::string model = {};    // who answers
  std::int64_t created = 0;  // seconds since 1970
  std::vector<ChoicePiece> choices = {};
  std::optional<Usage> usage = {};  // of a count of tokens, too
  std::optional<Timings> timings = {};
  std::vector<std::string> embeddings = {};  // JSON texts of arrays of numbers, in the order of the inputs
  std::optional<Error> failure = {};         // what is wrong; nothing follows
};

// `text`: the data of an event, or a body. What isn't there stays empty. Errors: json::errc::malformed.
Result<AnswerPiece> read_answer(const std::string& text);

}  // namespace corral::protocol
