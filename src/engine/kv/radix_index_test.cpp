#include "engine/kv/radix_index.h"

#include <algorithm>
#include <map>
#include <random>
#include <ranges>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Tokens = std::vector<Token>;

std::vector<std::pair<RadixIndex::Owner, std::uint32_t>> visited(const RadixIndex& index, const Tokens& wanted,
                                                                 std::uint32_t least = 1) {
  std::vector<std::pair<RadixIndex::Owner, std::uint32_t>> seen;
  index.visit(wanted, least, [&seen](const RadixIndex::Match& match) {
    seen.emplace_back(match.owner, match.length);
    return false;
  });
  return seen;
}

TEST(RadixIndex, FindsTheLongestCommonBeginning) {
  RadixIndex index;
  index.set(1, Tokens{1, 2, 3});
  index.set(2, Tokens{1, 2, 4, 5});
  EXPECT_EQ(index.best(Tokens{1, 2, 4, 6}).owner, 2u);
  EXPECT_EQ(index.best(Tokens{1, 2, 4, 6}).length, 3u);
  EXPECT_EQ(index.best(Tokens{1, 2, 3, 4}).owner, 1u);
  EXPECT_EQ(index.best(Tokens{1, 2}).length, 2u);
  EXPECT_EQ(index.best(Tokens{9}).length, 0u);
  EXPECT_EQ(index.best({}).length, 0u);
}

TEST(RadixIndex, VisitsFromTheLongestDown) {
  RadixIndex index;
  index.set(1, Tokens{1});
  index.set(2, Tokens{1, 2});
  index.set(3, Tokens{1, 2, 3, 4});
  index.set(4, Tokens{1, 2, 9});
  index.set(5, Tokens{7});
  EXPECT_THAT(visited(index, {1, 2, 3, 5}),
              ElementsAre(Pair(3, 3), Pair(testing::AnyOf(2, 4), 2), Pair(testing::AnyOf(2, 4), 2), Pair(1, 1)));
  EXPECT_THAT(visited(index, {1, 2, 3, 5}, 3), ElementsAre(Pair(3, 3)));
  EXPECT_THAT(visited(index, {1, 2, 3, 5}, 4), IsEmpty());
}

TEST(RadixIndex, StopsVisitingWhenToldSo) {
  RadixIndex index;
  for (RadixIndex::Owner owner = 1; owner <= 5; ++owner) index.set(owner, Tokens{1, 2});
  int calls = 0;
  index.visit(Tokens{1, 2}, 1, [&calls](const RadixIndex::Match&) { return ++calls == 3; });
  EXPECT_EQ(calls, 3);
}

TEST(RadixIndex, AnOwnerWithoutTokensIsKnownAndHasNothingInCommon) {
  RadixIndex index;
  index.set(1, {});
  EXPECT_EQ(index.length(1), 0u);
  EXPECT_EQ(index.length(2), std::nullopt);
  EXPECT_THAT(visited(index, {1}), IsEmpty());
  EXPECT_THAT(visited(index, {1}, 0), ElementsAre(Pair(1, 0)));
}

TEST(RadixIndex, KeepsSharedTokensOnce) {
  RadixIndex index;
  Tokens tokens(2048);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<Token>(i);
  for (RadixIndex::Owner owner = 0; owner < 1000; ++owner) {
    index.set(owner, tokens);
    index.extend(owner, Tokens{static_cast<Token>(5000 + owner), 1});
  }
  EXPECT_EQ(index.tokens(), 2048u + 2 * 1000);
  tokens.push_back(5123);
  EXPECT_EQ(index.best(tokens).owner, 123u);
  EXPECT_EQ(index.best(tokens).length, 2049u);
  for (RadixIndex::Owner owner = 0; owner < 1000; ++owner) index.erase(owner);
  EXPECT_EQ(index.tokens(), 0u);
  EXPECT_EQ(index.nodes(), 0u);
}

TEST(RadixIndex, FollowingAnotherListDoesNotDivideIt) {
  RadixIndex index;
  index.set(1, Tokens{1, 2, 3, 4, 5, 6});
  index.set(2, {});
  for (const Token token : {1, 2, 3, 4}) {
    index.extend(2, Tokens{token});
    EXPECT_EQ(index.nodes(), 1u);
  }
  index.extend(2, Tokens{9});
  EXPECT_EQ(index.nodes(), 3u);
  EXPECT_EQ(index.tokens(), 7u);
  index.truncate(2, 3);
  EXPECT_EQ(index.nodes(), 1u);
}

// Lists that part again at each token.
TEST(RadixIndex, ManyBranchesBelowEachOther) {
  RadixIndex index;
  Tokens tokens;
  for (RadixIndex::Owner owner = 0; owner < 3000; ++owner) {
    tokens.push_back(1);
    index.set(owner, tokens);
    index.extend(owner, Tokens{2});
  }
  EXPECT_EQ(index.best(tokens).length, 3000u);
  EXPECT_EQ(visited(index, tokens).size(), 3000u);
}

// The same by keeping each list whole.
class Naive {
 public:
  std::map<RadixIndex::Owner, Tokens> lists;

  std::size_t distinct_beginnings() const {
    std::set<Tokens> beginnings;
    for (const auto& [owner, list] : lists) {
      for (std::size_t n = 1; n <= list.size(); ++n) beginnings.emplace(list.begin(), list.begin() + n);
    }
    return beginnings.size();
  }

  std::map<RadixIndex::Owner, std::uint32_t> matches(const Tokens& wanted, std::uint32_t least) const {
    std::map<RadixIndex::Owner, std::uint32_t> found;
    for (const auto& [owner, list] : lists) {
      std::uint32_t n = 0;
      while (n < list.size() && n < wanted.size() && list[n] == wanted[n]) ++n;
      if (n >= least) found[owner] = n;
    }
    return found;
  }
};

class RadixIndexSimulation : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(RadixIndexSimulation, AnswersLikeAListOfLists) {
  std::mt19937 random(GetParam());
  const auto below = [&random](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  // Few different tokens and owners, so that lists meet, part and coincide all the time.
  const std::uint32_t alphabet = 1 + below(4);
  const std::uint32_t longest = 1 + below(24);
  const std::uint32_t owners = 1 + below(40);
  const auto some_tokens = [&] {
    Tokens tokens(below(longest + 1));
    for (Token& token : tokens) token = static_cast<Token>(below(alphabet));
    return tokens;
  };

  RadixIndex index;
  Naive naive;
  for (int step = 0; step < 1500; ++step) {
    const RadixIndex::Owner owner = below(owners);
    switch (below(7)) {
      case 0:
      case 1: {
        // Often a list that another one has, or its beginning, or more than it.
        Tokens tokens = some_tokens();
        if (const auto other = naive.lists.find(below(owners)); other != naive.lists.end() && below(2) == 0) {
          const Tokens& list = other->second;
          tokens.insert(tokens.begin(), list.begin(),
                        list.begin() + below(static_cast<std::uint32_t>(list.size()) + 1));
          if (below(2) == 0) tokens = list;
        }
        index.set(owner, tokens);
        naive.lists[owner] = tokens;
        break;
      }
      case 2:
      case 3:
      case 4: {
        const Tokens suffix = below(2) == 0 ? some_tokens() : Tokens{static_cast<Token>(below(alphabet))};
        index.extend(owner, suffix);
        Tokens& list = naive.lists[owner];
        list.insert(list.end(), suffix.begin(), suffix.end());
        break;
      }
      case 5: {
        const std::uint32_t length = below(longest + 4);
        index.truncate(owner, length);
        if (const auto found = naive.lists.find(owner); found != naive.lists.end() && length < found->second.size())
          found->second.resize(length);
        break;
      }
      default:
        index.erase(owner);
        naive.lists.erase(owner);
    }

    ASSERT_EQ(index.size(), naive.lists.size());
    ASSERT_EQ(index.tokens(), naive.distinct_beginnings());
    ASSERT_LE(index.nodes(), 2 * index.size());
    for (RadixIndex::Owner each = 0; each < owners; ++each) {
      const auto list = naive.lists.find(each);
      ASSERT_EQ(index.length(each),
                list == naive.lists.end() ? std::nullopt : std::optional<std::uint32_t>(list->second.size()));
    }

    Tokens wanted = some_tokens();
    if (const auto list = naive.lists.find(below(owners)); list != naive.lists.end() && below(2) == 0)
      wanted.insert(wanted.begin(), list->second.begin(), list->second.end());
    const std::uint32_t least = below(4);
    const auto expected = naive.matches(wanted, least);
    const auto seen = visited(index, wanted, least);
    ASSERT_TRUE(std::ranges::is_sorted(seen, std::greater<>{}, [](const auto& match) { return match.second; }));
    ASSERT_EQ(seen.size(), expected.size());  // each once
    ASSERT_EQ((std::map<RadixIndex::Owner, std::uint32_t>(seen.begin(), seen.end())), expected);

    const RadixIndex::Match best = index.best(wanted);
    const auto common = naive.matches(wanted, 1);
    ASSERT_EQ(best.length, common.empty() ? 0 : std::ranges::max(common | std::views::values));
    if (best.length > 0) ASSERT_EQ(common.at(best.owner), best.length);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RadixIndexSimulation, ::testing::Range(1u, 41u));

}  // namespace
}  // namespace corral::engine
