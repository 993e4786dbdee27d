// Counts tokens in an answer while it passes, without parsing all of it: the pieces of a stream that contain text, and
// the token counts that the answer reports. For canonical answers and for those of other servers. Plain values; for one
// thread.
//
// In JSON a quote inside a text is escaped, so `"usage":{` occurs only as a member. Servers may write spaces around
// ':'.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace corral::protocol {

// Tokens; nothing: the answer doesn't report them.
struct AnswerTokens {
  std::optional<std::uint64_t> prompt = {}, cached = {}, output = {};
  std::optional<double> per_second = {};  // of the output
};

class AnswerCount {
 public:
  // Takes whole events. True: the first ones with text of the model.
  bool feed(std::string_view events);
  // Takes an answer without streaming; its first and last 4 KiB are enough.
  void whole(std::string_view body);

  // So far: usually one token each, sometimes several.
  std::uint64_t pieces() const { return pieces_; }
  // For a stream without counts, the number of its pieces.
  AnswerTokens tokens() const;

 private:
  void take(std::string_view event);
  void numbers(std::string_view text);

  AnswerTokens reported_;
  std::optional<std::uint64_t> timed_;  // sum of the counts at the ends of several answers
  std::uint64_t pieces_ = 0;
  bool has_usage_ = false;
};

}  // namespace corral::protocol
