#include "cli/terminal/message_history.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

namespace corral::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class MessageHistoryTest : public ::testing::Test {
 protected:
  MessageHistoryTest() { std::filesystem::remove_all(folder_); }
  ~MessageHistoryTest() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::filesystem::path file_ = folder_ / "state" / "history";
};

TEST_F(MessageHistoryTest, KeepsMessagesOfSeveralLines) {
  const MessageHistory history(file_);
  EXPECT_THAT(history.read(), IsEmpty());
  history.add("one");
  history.add("two\nlines, and a \\ with \\n");
  MessageHistory(file_).add("three");
  EXPECT_THAT(history.read(), ElementsAre("one", "two\nlines, and a \\ with \\n", "three"));
  EXPECT_EQ(std::filesystem::status(file_).permissions() & std::filesystem::perms::all,
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(MessageHistoryTest, ReadsTheNewestAndShortensALargeFile) {
  const MessageHistory history(file_);
  history.add("first");
  const std::string line(5'000, 'x');
  {
    std::ofstream file(file_, std::ios::app);
    for (int i = 0; i < 1'000; ++i) file << i << line << '\n';
    file << "cut off";
  }
  const auto messages = history.read();
  ASSERT_THAT(messages, SizeIs(MessageHistory::kMaxMessages));
  EXPECT_EQ(messages.front(), "0" + line);
  EXPECT_EQ(messages.back(), "999" + line);
  const auto newest = history.read();
  EXPECT_LT(newest.size(), messages.size());
  EXPECT_GT(newest.size(), 300);
  EXPECT_EQ(newest.back(), messages.back());
  EXPECT_EQ(history.read(), newest);
}

TEST_F(MessageHistoryTest, AMessageThatIsTooLongIsNotKept) {
  const MessageHistory history(file_);
  history.add(std::string(MessageHistory::kLongest + 1, 'x'));
  EXPECT_THAT(history.read(), IsEmpty());
}

TEST(NoMessageHistory, KeepsNothing) {
  const MessageHistory history("");
  history.add("one");
  EXPECT_THAT(history.read(), IsEmpty());
}

}  // namespace
}  // namespace corral::cli
