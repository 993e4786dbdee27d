// Bodies of OpenAI's Responses API as canonical requests. Pure; safe on every thread. The work is bounded by the tables
// of protocol/responses_fields.h, and grows with the body's length.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/error.h"
#include "dialects/dialect.h"

namespace corral::dialects::responses {

// A tool as the client named it.
struct NamedTool {
  std::string name_space = {};  // empty: none
  std::string name = {};
  bool custom = false;  // called with a text instead of an object
};

// What telling an answer takes of its request (Canonical::facts).
struct ResponseFacts {
  std::string echo;                                          // members of every answer, JSON without braces
  std::map<std::string, NamedTool, std::less<>> tools = {};  // by the name that the model knows
  bool background = false;
  bool summary = false;  // the request asks for a summary: the thoughts are it
};

// Where nothing is kept: errc::unsupported_value for what looks back.
Result<Canonical> read_response(std::string body);
// errc::bad_value for a reference to an item that isn't there.
Result<Canonical> read_response_on(const std::string& body, const Before& before);
// Of the same body: how many tokens its prompt has. Fields that don't make the prompt have no effect.
Result<Canonical> read_response_count(std::string body);
Result<Canonical> read_response_count_on(const std::string& body, const Before& before);

}  // namespace corral::dialects::responses
