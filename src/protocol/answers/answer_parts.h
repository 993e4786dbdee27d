// Shared code of whole and streamed answers. Internal to protocol/.
#pragma once

#include <span>
#include <string_view>

#include "json/writer.h"
#include "protocol/answers/answers.h"

namespace corral::protocol {

// Writes the first members; `out` is inside the answer's object.
void write_head(json::Writer& out, const AnswerHead& head, std::string_view object);
// "warnings", if there are any.
void write_warnings(json::Writer& out, std::span<const std::string> warnings);
// Each writes one object.
void write_usage(json::Writer& out, const Usage& usage);
void write_timings(json::Writer& out, const Timings& timings);
void write_progress(json::Writer& out, const PromptProgress& progress);
void write_logprobs(json::Writer& out, std::span<const TokenLogprob> tokens, LogprobShape shape);
// Only the list, of LogprobShape::content or probabilities.
void write_probabilities(json::Writer& out, std::span<const TokenLogprob> tokens, LogprobShape shape);

}  // namespace corral::protocol
