// From sampled tokens to text that may be shown: joins characters that are split over tokens, holds back what could be
// the beginning of a stop string, and ends the text exactly before the first stop string.
//
// Invariant: the text given out is the bytes of the tokens given out, up to a character or stop string that is still
// open; a token that carries at least one byte of shown text is kept, a token that lies wholly in the stop string (or
// behind its start) is not. Pure value; no model needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace corral::engine {

class TextCutter {
 public:
  // Empty strings in `stops` are ignored.
  explicit TextCutter(std::vector<std::string> stops = {});

  struct Cut {
    std::string text;            // new text: whole, valid UTF-8
    std::uint32_t released = 0;  // so many more of the oldest held tokens are part of the answer
    bool stopped = false;  // a stop string was met; `dropped` tokens, the youngest ones, are not part of the answer
    std::uint32_t dropped = 0;
    std::string stop;  // which
  };
  // Takes the next token's bytes (may be empty).
  Cut push(std::string_view piece);
  // The generation ends without a stop string: what is held back is text after all, except for half a character.
  Cut flush();

  // Tokens pushed and neither released nor dropped.
  std::uint32_t held() const { return static_cast<std::uint32_t>(ends_.size()); }

 private:
  struct Match {
    std::size_t at = std::string::npos;
    std::string stop;
  };
  Match find_stop() const;
  std::size_t open_stop_start() const;
  Cut release(std::size_t bytes);

  std::vector<std::string> stops_;
  std::string pending_;            // bytes not given out yet
  std::vector<std::size_t> ends_;  // for each held token, the end of its bytes in pending_
  bool oldest_shown_ = false;      // the oldest held token has given out bytes already
};

}  // namespace corral::engine
