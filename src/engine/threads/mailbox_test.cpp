#include "engine/threads/mailbox.h"

#include <array>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

using Box = Mailbox<int>;
constexpr std::array<std::uint64_t, 2> kPrefilling = {5, 6};

TEST(Mailbox, GivesCommandsInOrder) {
  Box box;
  std::vector<int> commands;
  for (const int command : {1, 2, 3}) EXPECT_TRUE(box.post(command));
  EXPECT_TRUE(box.take(commands, true));
  EXPECT_EQ(commands, (std::vector{1, 2, 3}));
  EXPECT_TRUE(box.take(commands, false));
  EXPECT_TRUE(commands.empty());
}

TEST(Mailbox, ACommandAboutAPromptThatIsComputedCutsThePassShort) {
  Box box;
  box.begin_pass(kPrefilling);
  EXPECT_TRUE(box.post(1, 7));  // another session
  EXPECT_TRUE(box.post(2));     // none
  EXPECT_FALSE(box.abort_flag());
  EXPECT_TRUE(box.post(3, 6));
  EXPECT_TRUE(box.abort_flag());
}

TEST(Mailbox, ACommandThatCameBeforeThePassCounts) {
  Box box;
  EXPECT_TRUE(box.post(1, 5));
  box.begin_pass(kPrefilling);
  EXPECT_TRUE(box.abort_flag());
}

TEST(Mailbox, OncePassedOnItCutsNothingAnyMore) {
  Box box;
  std::vector<int> commands;
  box.begin_pass(kPrefilling);
  EXPECT_TRUE(box.post(1, 5));
  box.end_pass();
  EXPECT_TRUE(box.take(commands, false));
  box.begin_pass(kPrefilling);
  EXPECT_FALSE(box.abort_flag());
  box.end_pass();
  EXPECT_TRUE(box.post(2, 5));  // between two passes there is nothing to cut
  EXPECT_FALSE(box.abort_flag());
}

TEST(Mailbox, ClosingEndsThePassAndRefusesCommands) {
  Box box;
  std::vector<int> commands;
  EXPECT_TRUE(box.post(1));
  box.begin_pass({});
  box.close();
  EXPECT_TRUE(box.abort_flag());
  EXPECT_FALSE(box.post(2));
  EXPECT_FALSE(box.take(commands, true));
  EXPECT_EQ(commands, std::vector{1});
}

TEST(Mailbox, WakingNeedsNoCommand) {
  Box box;
  std::vector<int> commands;
  box.wake();
  EXPECT_TRUE(box.take(commands, true));
  EXPECT_TRUE(commands.empty());
}

}  // namespace
}  // namespace corral::engine
