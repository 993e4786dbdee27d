#include "engine/speculate/ngram_drafter.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/schedule/row_costs.h"

namespace corral::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SessionId kSession{1};
// Where passes with more rows take as long, or `each` more for each: for nothing, all guesses there are are made.
RowCosts costs(double each = 0) {
  RowCosts costs;
  for (std::uint32_t rows = 1; rows <= RowCosts::kMaxRows; ++rows) costs.observe(rows, 1 + each * (rows - 1));
  return costs;
}
const RowCosts kFree = costs();

std::vector<Token> tokens_of(std::span<const DraftToken> drafts) {
  std::vector<Token> tokens;
  for (const DraftToken& draft : drafts) tokens.push_back(draft.token);
  return tokens;
}

// The guesses of one session that a pass with nobody else is better with.
std::vector<Token> draft(NgramDrafter& drafter, const std::vector<Token>& history, std::uint32_t max = 8,
                         SessionId session = kSession, const RowCosts& costs = kFree) {
  std::vector<DraftToken> drafts;
  drafter.draft(session, history, {.max = max, .rows = 1, .costs = costs}, drafts);
  EXPECT_LE(drafts.size(), max);
  DraftList list{.drafts = drafts, .max = max};
  choose_drafts(std::span(&list, 1), costs, {.max = max});
  drafts.resize(list.rows);
  return tokens_of(drafts);
}

// By hand: what NgramIndex::longest finds if it looks everywhere.
NgramIndex::Match search(std::span<const Token> tokens, std::uint32_t n) {
  NgramIndex::Match best;
  for (auto end = static_cast<std::uint32_t>(tokens.size()) - 1; end >= n; --end) {
    std::uint32_t length = 0;
    while (length < std::min(end, NgramIndex::kLongest) &&
           tokens[end - 1 - length] == tokens[tokens.size() - 1 - length])
      ++length;
    if (length >= n && length > best.length) best = {.length = length, .end = end};
  }
  return best;
}

TEST(NgramIndex, FindsWhatASearchFinds) {
  std::mt19937 random(7);
  for (const std::uint32_t n : {2u, 3u, 4u}) {
    NgramIndex index(n);
    std::vector<Token> tokens;
    std::uint32_t found = 0;
    while (tokens.size() < 1500) {
      // New tokens and copies of old ones, some at a time.
      const bool copy = tokens.size() > 20 && random() % 2 == 0;
      const std::size_t from = copy ? random() % (tokens.size() - 10) : 0;
      for (std::size_t i = 0; i < 1 + random() % 9; ++i)
        tokens.push_back(copy ? tokens[from + i] : static_cast<Token>(random() % 1000));
      index.update(tokens);
      if (tokens.size() <= n) continue;
      const auto is = index.longest(tokens), should = search(tokens, n);
      ASSERT_EQ(is.length, should.length) << tokens.size();
      ASSERT_EQ(is.end, should.end) << tokens.size();
      found += is.length > 0 ? 1 : 0;
    }
    EXPECT_GT(found, 50u);
  }
}

TEST(NgramIndex, AListThatWasCutBackIsNeverMisread) {
  std::mt19937 random(3);
  NgramIndex index(2);
  std::vector<Token> tokens;
  for (int step = 0; step < 3000; ++step) {
    if (random() % 5 == 0) tokens.resize(tokens.size() - random() % (tokens.size() / 2 + 1));
    for (std::size_t i = random() % 8; i > 0; --i) tokens.push_back(static_cast<Token>(random() % 6));
    index.update(tokens);
    const auto match = index.longest(tokens);
    if (match.length == 0) continue;
    ASSERT_LT(match.end, tokens.size());
    ASSERT_LE(match.length, match.end);
    for (std::uint32_t i = 1; i <= match.length; ++i) ASSERT_EQ(tokens[match.end - i], tokens[tokens.size() - i]);
  }
}

TEST(NgramIndex, EmptyAndShortListsHaveNoMatch) {
  NgramIndex index(3);
  EXPECT_EQ(index.longest({}).length, 0u);
  const std::vector<Token> tokens = {1, 1, 1};
  index.update(tokens);
  EXPECT_EQ(index.longest(tokens).length, 0u);
}

TEST(NgramDrafter, ProposesWhatFollowedBefore) {
  NgramDrafter drafter;
  EXPECT_THAT(draft(drafter, {1, 2, 3, 4, 5, 6, 7, 9, 2, 3}, 3), ElementsAre(4, 5, 6));
}

TEST(NgramDrafter, PrefersTheLongestThenTheLatestMatch) {
  NgramDrafter drafter;
  EXPECT_THAT(draft(drafter, {1, 2, 3, 10, 9, 2, 3, 11, 1, 2, 3}, 1), ElementsAre(10));
  EXPECT_THAT(draft(drafter, {5, 2, 3, 10, 9, 2, 3, 11, 1, 2, 3}, 1, SessionId{2}), ElementsAre(11));
}

TEST(NgramDrafter, SilentWithoutRepetition) {
  NgramDrafter drafter;
  EXPECT_THAT(draft(drafter, {}), IsEmpty());
  EXPECT_THAT(draft(drafter, {1}), IsEmpty());
  EXPECT_THAT(draft(drafter, {1, 2, 3, 4, 5, 6}), IsEmpty());
  EXPECT_THAT(draft(drafter, {1, 2, 3, 4, 5, 6, 3}), IsEmpty()) << "one token is no reason";
}

TEST(NgramDrafter, GoesOnWithALoopBeyondTheEndOfTheHistory) {
  NgramDrafter drafter;
  EXPECT_THAT(draft(drafter, {9, 1, 2, 3, 1, 2, 3}, 8), ElementsAre(1, 2, 3, 1, 2, 3, 1, 2));
  EXPECT_THAT(draft(drafter, {7, 7, 7}, 4, SessionId{2}), ElementsAre(7, 7, 7, 7));
}

TEST(NgramDrafter, AppendsBehindOtherGuesses) {
  NgramDrafter drafter;
  std::vector<DraftToken> drafts = {{100, 1}, {101, 1}};
  drafter.draft(kSession, std::vector<Token>{4, 5, 4, 5}, {.max = 3, .rows = 1, .costs = kFree}, drafts);
  EXPECT_THAT(tokens_of(drafts), ElementsAre(100, 101, 4, 5, 4));
}

TEST(NgramDrafter, FollowsAHistoryThatGrowsOrIsCut) {
  NgramDrafter drafter;
  std::vector<Token> history = {1, 2, 3, 4};
  EXPECT_THAT(draft(drafter, history), IsEmpty());
  history.insert(history.end(), {8, 2, 3});
  EXPECT_THAT(draft(drafter, history, 2), ElementsAre(4, 8));
  history.resize(4);
  history.insert(history.end(), {9, 9, 9, 9, 9, 9, 3, 4});
  EXPECT_THAT(draft(drafter, history, 2), ElementsAre(9, 9));
}

// Token by token: how many guesses are made for a text, and how many of them are right.
struct Drafted {
  std::uint32_t made = 0, right = 0;
};
Drafted follow(NgramDrafter& drafter, const std::vector<Token>& text, std::size_t from, double each,
               SessionId session = kSession) {
  const RowCosts rows = costs(each);
  Drafted all;
  for (std::size_t at = from; at < text.size();) {
    const auto drafts =
        draft(drafter, {text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at)}, 8, session, rows);
    all.made += static_cast<std::uint32_t>(drafts.size());
    for (const Token draft : drafts) {
      if (at == text.size() || draft != text[at]) break;
      ++all.right;
      ++at;
    }
    ++at;
  }
  return all;
}

// Pairs of tokens come again all the time, but what follows them is another one each time.
std::vector<Token> misleading(std::uint32_t count) {
  std::vector<Token> text;
  while (text.size() < count) text.insert(text.end(), {1, 2, static_cast<Token>(10 + text.size())});
  return text;
}

TEST(NgramDrafter, StopsWhenMostlyWrong) {
  NgramDrafter drafter;
  follow(drafter, misleading(300), 10, 0.1);
  EXPECT_EQ(follow(drafter, misleading(1200), 900, 0.1, SessionId{2}).made, 0u) << "the next session is warned";
}

TEST(NgramDrafter, WhatAPassCostsDecidesHowSureAGuessMustBe) {
  const std::vector<Token> text = misleading(300);
  NgramDrafter cheap, costly;
  EXPECT_GT(follow(cheap, text, 10, 0.02).made, 0u);
  EXPECT_EQ(follow(costly, text, 10, 0.5).made, 0u);
}

// The text only misleads at first: what was not guessed any more shows all the same that it could have been.
TEST(NgramDrafter, ComesBackWhenTheTextRepeatsItself) {
  std::vector<Token> text = misleading(600);
  const std::vector<Token> passage(text.begin() + 100, text.begin() + 200);
  const std::size_t from = text.size();
  for (int i = 0; i < 3; ++i) text.insert(text.end(), passage.begin(), passage.end());
  NgramDrafter drafter;
  follow(drafter, {text.begin(), text.begin() + static_cast<std::ptrdiff_t>(from)}, 10, 0.2);
  const Drafted drafted = follow(drafter, text, from, 0.2);
  EXPECT_GT(drafted.right, 200u);
  EXPECT_GT(drafted.right, drafted.made * 9 / 10);
}

TEST(NgramDrafter, ForgetsSessions) {
  NgramDrafter drafter;
  draft(drafter, {1, 2, 1, 2});
  draft(drafter, {1, 2, 1, 2}, 8, SessionId{2});
  EXPECT_EQ(drafter.sessions(), 2u);
  drafter.forget(kSession);
  drafter.forget(SessionId{77});
  EXPECT_EQ(drafter.sessions(), 1u);
  drafter.downsize();
  EXPECT_EQ(drafter.sessions(), 0u);
  EXPECT_FALSE(draft(drafter, {1, 2, 1, 2}).empty());
}

}  // namespace
}  // namespace corral::engine
