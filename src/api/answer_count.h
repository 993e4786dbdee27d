// Counts what goes by in a canonical answer, without reading it as a whole: the pieces of a stream that say something,
// and the numbers of tokens that answers tell of themselves. Plain values; of one thread.
//
// In JSON a quote inside a text is escaped, so `"usage":{` stands nowhere but where it is a member.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace corral::api {

// Tokens; nothing where the answer doesn't say.
struct AnswerTokens {
  std::optional<std::uint64_t> prompt = {}, cached = {}, output = {};
};

class AnswerCount {
 public:
  // Whole events. True: the first ones in which the model says something.
  bool feed(std::string_view events);
  // An answer that doesn't stream.
  void whole(std::string_view body);

  // So far: each is a token as a rule, and some are several.
  std::uint64_t pieces() const { return pieces_; }
  // Of a stream that doesn't say, its pieces.
  AnswerTokens tokens() const;

 private:
  void numbers(std::string_view text);

  AnswerTokens told_;
  std::optional<std::uint64_t> timed_;  // what the ends of several answers tell, together
  std::uint64_t pieces_ = 0;
  bool has_usage_ = false;
};

}  // namespace corral::api
