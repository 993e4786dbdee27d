// Compaction: the model summarizes a conversation. The result is a list of items for `input` of later requests: the
// messages of the user and of the system, and an item `compaction` with the summary, which stands for all other items.
// The summary isn't encrypted, because its client sent the conversation. Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "dialects/dialect.h"
#include "dialects/responses/earlier.h"

namespace corral::dialects::responses {

// The model's task: the last message of the user.
inline constexpr std::string_view kSummarize =
    "Summarize this conversation so that you can continue it with the summary alone. Keep facts, names, numbers, "
    "decisions, results of tools and open tasks. Write only the summary.";
inline constexpr int kLongestSummary = 2048;  // tokens

// Facts of the request (Canonical::facts).
struct CompactionFacts {
  std::string messages;  // that stay, elements of a JSON array
};

// The messages that stay. `input`: the request's own items in their stored form (kept_input()).
std::string lasting_messages(const Earlier& earlier, const std::string& input);
std::unique_ptr<ResponseTranslator> make_compaction_translator(const Canonical& request);

}  // namespace corral::dialects::responses
