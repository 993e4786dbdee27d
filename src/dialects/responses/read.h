// Converts bodies of OpenAI's Responses API to canonical requests. Pure; safe on every thread. The tables of
// protocol/responses/responses_fields.h bound the work, which grows with the body's length.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/error.h"
#include "dialects/dialect.h"

namespace corral::dialects::responses {

// The client's name of a tool.
struct NamedTool {
  std::string name_space = {};  // empty: none
  std::string name = {};
  bool custom = false;  // called with a text instead of an object
};

// Facts of the request that the translator of its answer needs (Canonical::facts).
struct ResponseFacts {
  std::string echo;                                          // members of every answer, JSON without braces
  std::map<std::string, NamedTool, std::less<>> tools = {};  // by the model's name for the tool
  bool background = false;
  bool summary = false;  // the request asks for a summary: the thoughts are it
};

// Without storage: errc::unsupported_value for references to stored data.
Result<Canonical> read_response(std::string body);
// errc::bad_value for a reference to an unknown item, and for the output of a call that the stored conversation lacks.
Result<Canonical> read_response_on(const std::string& body, const Before& before);
// For the same body: counts the tokens of the prompt. Fields without effect on the prompt are ignored.
Result<Canonical> read_response_count(std::string body);
Result<Canonical> read_response_count_on(const std::string& body, const Before& before);
// A body of responses/compact: the canonical request asks the model for a summary of the conversation.
Result<Canonical> read_compaction(std::string body);
Result<Canonical> read_compaction_on(const std::string& body, const Before& before);

}  // namespace corral::dialects::responses
