// From sampled tokens to text that may be shown: joins characters that are split over tokens, holds back what could be
// the beginning of a stop string, and ends the text exactly before the first stop string.
//
// Invariant: the released text is the bytes of the released tokens, up to a character or stop string that is still
// open. A token with at least one byte of shown text is kept; a token that lies wholly in the stop string (or behind
// its start) is not. Pure value; no model needed.
//
// Each byte is compared once per stop string, whatever is held back (Knuth, Morris, Pratt), because clients choose text
// and stop strings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace corral::engine {

class StopStringFilter {
 public:
  // Empty strings in `stops` are ignored.
  explicit StopStringFilter(std::vector<std::string> stops = {});

  struct Cut {
    std::string text;            // new text: whole, valid UTF-8
    std::uint32_t released = 0;  // further tokens, the oldest held ones, that are part of the answer
    bool stopped = false;  // a stop string was met; `dropped` tokens, the youngest ones, are not part of the answer
    std::uint32_t dropped = 0;
    std::string stop;  // which
  };
  // Adds the next token's bytes, which may be empty.
  Cut push(std::string_view piece);
  // The generation ends without a stop string: releases the held text, except an incomplete character.
  Cut flush();

  // Tokens pushed and neither released nor dropped.
  std::uint32_t held() const { return static_cast<std::uint32_t>(ends_.size() - let_go_); }

 private:
  // A stop string, and the length of its prefix at the end of the text.
  class Stop {
   public:
    explicit Stop(std::string text);
    const std::string& text() const { return text_; }
    std::size_t open() const { return open_; }
    // Appends bytes to the text, up to the end of the first match: returns the number of bytes taken, or npos without a
    // match.
    std::size_t meet(std::string_view bytes);
    void forget() { open_ = 0; }

   private:
    std::string text_;
    // For each prefix, its longest proper prefix that is also its suffix.
    std::vector<std::uint32_t> shorter_;
    std::size_t open_ = 0;
  };
  struct Match {
    std::uint64_t at = ~std::uint64_t{0};
    const Stop* stop = nullptr;
  };
  Match find_stop(std::string_view piece);
  std::uint64_t open_stop_start() const;
  Cut release(std::uint64_t to);
  std::string_view pending() const { return std::string_view(bytes_).substr(given_); }
  std::span<const std::uint64_t> held_ends() const { return std::span(ends_).subspan(let_go_); }
  std::uint64_t end() const { return start_ + pending().size(); }
  void forget();

  std::vector<Stop> stops_;
  // Positions count from the first byte of the answer.
  std::string bytes_;                // bytes that are not released yet, behind some that are
  std::size_t given_ = 0;            // so many
  std::uint64_t start_ = 0;          // position of the first byte that is not released
  std::vector<std::uint64_t> ends_;  // end of each held token, behind some that were released
  std::size_t let_go_ = 0;           // so many
  bool oldest_shown_ = false;        // bytes of the oldest held token were released already
};

}  // namespace corral::engine
