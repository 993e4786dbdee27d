#include "engine/sample/stop_string_filter.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

using Cut = StopStringFilter::Cut;

TEST(StopStringFilter, LetsPlainTextThroughAtOnce) {
  StopStringFilter filter;
  const Cut cut = filter.push("hello");
  EXPECT_EQ(cut.text, "hello");
  EXPECT_EQ(cut.released, 1u);
  EXPECT_EQ(filter.held(), 0u);
}

TEST(StopStringFilter, JoinsACharacterThatIsSplitOverTokens) {
  StopStringFilter filter;
  EXPECT_EQ(filter.push("a\xF0\x9F").text, "a");
  EXPECT_EQ(filter.held(), 1u);
  EXPECT_EQ(filter.push("\x90").text, "");
  const Cut cut = filter.push("\x8E");
  EXPECT_EQ(cut.text, "🐎");
  EXPECT_EQ(cut.released, 3u);
}

TEST(StopStringFilter, HoldsBackWhatMayBecomeAStopString) {
  StopStringFilter filter({"END"});
  EXPECT_EQ(filter.push("the E").text, "the ");
  EXPECT_EQ(filter.push("N").text, "");
  const Cut cut = filter.push("T");
  EXPECT_EQ(cut.text, "ENT");
  EXPECT_EQ(cut.released, 3u);
  EXPECT_FALSE(cut.stopped);
}

TEST(StopStringFilter, CutsExactlyBeforeAStopStringAcrossTokens) {
  StopStringFilter filter({"END"});
  filter.push("one");
  filter.push(" two E");
  filter.push("N");
  const Cut cut = filter.push("D three");
  EXPECT_TRUE(cut.stopped);
  EXPECT_EQ(cut.stop, "END");
  EXPECT_EQ(cut.text, "");
  EXPECT_EQ(cut.released, 1u);  // " two E" shows text
  EXPECT_EQ(cut.dropped, 2u);   // "N" and "D three" lie in it or behind
  EXPECT_EQ(filter.held(), 0u);
}

TEST(StopStringFilter, StopStringInsideOneToken) {
  StopStringFilter filter({"\n\n"});
  const Cut cut = filter.push("a\n\nb");
  EXPECT_TRUE(cut.stopped);
  EXPECT_EQ(cut.text, "a");
  EXPECT_EQ(cut.released, 1u);
  EXPECT_EQ(cut.dropped, 0u);
}

TEST(StopStringFilter, TheEarliestOfSeveralStopStringsWins) {
  StopStringFilter filter({"three", "two", ""});
  const Cut cut = filter.push("one two three");
  EXPECT_EQ(cut.stop, "two");
  EXPECT_EQ(cut.text, "one ");
}

TEST(StopStringFilter, AStopStringAtTheVeryBeginningDropsEverything) {
  StopStringFilter filter({"###"});
  filter.push("#");
  const Cut cut = filter.push("##");
  EXPECT_TRUE(cut.stopped);
  EXPECT_EQ(cut.released, 0u);
  EXPECT_EQ(cut.dropped, 2u);
}

TEST(StopStringFilter, FlushGivesOutAnOpenStopStringButNotHalfACharacter) {
  StopStringFilter filter({"END"});
  filter.push("E");
  const Cut open = filter.flush();
  EXPECT_EQ(open.text, "E");
  EXPECT_EQ(open.released, 1u);
  filter.push("x\xC3");
  const Cut half = filter.flush();
  EXPECT_EQ(half.text, "");
  EXPECT_EQ(half.released, 1u);
}

TEST(StopStringFilter, InvalidBytesAreReplaced) {
  StopStringFilter filter;
  EXPECT_EQ(filter.push("a\xFF").text, "a\uFFFD");
}

// However a text is cut into tokens: the same text comes out, and each token is released or dropped exactly once.
TEST(StopStringFilter, SameTextForEveryWayToCutIt) {
  const std::string whole = "Grüße! 你好 🐎 — the answer is ST and STO, then STOP and more";
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    StopStringFilter filter({"STOP", "nowhere"});
    std::string text;
    std::uint32_t pushed = 0, released = 0, dropped = 0;
    bool stopped = false;
    for (std::size_t at = 0; at < whole.size() && !stopped;) {
      const std::size_t length = std::min<std::size_t>(random() % 6, whole.size() - at);  // empty pieces too
      const Cut cut = filter.push(std::string_view(whole).substr(at, length));
      at += length;
      ++pushed;
      text += cut.text;
      released += cut.released;
      dropped += cut.dropped;
      stopped = cut.stopped;
      ASSERT_EQ(pushed, released + dropped + filter.held());
    }
    ASSERT_TRUE(stopped);
    ASSERT_EQ(text, "Grüße! 你好 🐎 — the answer is ST and STO, then ");
  }
}

// What a cutter does, by looking at everything again for each piece.
struct Plain {
  std::vector<std::string> stops;
  std::string all = {};   // so far
  std::size_t shown = 0;  // of it
  std::string push(const std::string& piece, bool& stopped) {
    all += piece;
    std::size_t met = std::string::npos, open = all.size();
    for (const std::string& stop : stops) {
      met = std::min(met, all.find(stop));
      for (std::size_t length = std::min(stop.size() - 1, all.size()); length > 0; --length) {
        if (all.ends_with(stop.substr(0, length))) {
          open = std::min(open, all.size() - length);
          break;
        }
      }
    }
    stopped = met != std::string::npos;
    const std::size_t to = stopped ? met : open;
    const std::string text = all.substr(shown, to - shown);
    shown = to;
    return text;
  }
};

// Stop strings that begin with themselves, several ways deep, and texts that nearly are one.
TEST(StopStringFilter, StopStringsThatRepeatThemselves) {
  std::mt19937 random(11);
  const auto some = [&](std::size_t longest) {
    std::string text;
    for (std::size_t i = 0; i <= random() % longest; ++i) text += random() % 3 == 0 ? 'b' : 'a';
    return text;
  };
  for (int round = 0; round < 3000; ++round) {
    Plain plain{.stops = {some(9), some(9)}};
    StopStringFilter filter(plain.stops);
    bool stopped = false;
    for (int i = 0; i < 40 && !stopped; ++i) {
      const std::string piece = random() % 8 == 0 ? "" : some(5);
      const Cut cut = filter.push(piece);
      ASSERT_EQ(cut.text, plain.push(piece, stopped)) << plain.stops[0] << ' ' << plain.stops[1] << ' ' << plain.all;
      ASSERT_EQ(cut.stopped, stopped);
    }
  }
}

TEST(StopStringFilter, AfterAFlushNothingIsLeftOpen) {
  StopStringFilter filter({"END"});
  filter.push("E");
  EXPECT_EQ(filter.flush().text, "E");
  const Cut cut = filter.push("ND");
  EXPECT_FALSE(cut.stopped);
  EXPECT_EQ(cut.text, "ND");
}

// A long stop string that nearly comes again and again: each piece used to be compared with all of its beginnings, and
// all that was held back was moved. It took hours.
TEST(StopStringFilter, TheWorstStopStringTakesNoLongerThanAnyOther) {
  constexpr std::size_t kLong = 200'000;
  const std::string longest(kLong, 'a');
  StopStringFilter filter({longest + "b", longest + "c" + longest});
  std::size_t shown = 0;
  for (int times = 0; times < 3; ++times) {
    shown += filter.push(longest).text.size();
    for (std::size_t i = 0; i < kLong; ++i) shown += filter.push(i % 2 == 0 ? "a" : "").text.size();
    shown += filter.push("c").text.size();
    for (std::size_t i = 0; i + 1 < kLong; ++i) shown += filter.push("a").text.size();
    shown += filter.push("x").text.size();
  }
  EXPECT_EQ(shown, 3 * (kLong + kLong / 2 + 1 + kLong));
  const Cut cut = filter.push(longest + "b");
  EXPECT_TRUE(cut.stopped);
  EXPECT_EQ(cut.stop.size(), kLong + 1);
}

}  // namespace
}  // namespace corral::engine
