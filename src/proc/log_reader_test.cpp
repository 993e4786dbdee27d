#include "proc/log_reader.h"

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "proc/log_sink.h"

namespace corral::proc {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LogReaderTest : public testing::Test {
 protected:
  LogReaderTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~LogReaderTest() override { std::filesystem::remove_all(folder_); }

  void write(std::string_view text) { std::ofstream(file_, std::ios::app) << text; }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      fmt::format("corral_log_reader_{}_{}", testing::UnitTest::GetInstance()->current_test_info()->name(), ::getpid());
  const std::filesystem::path file_ = folder_ / "engine-1.log";
};

TEST_F(LogReaderTest, StartsAtTheLastLinesAndFollows) {
  LogReader reader(file_, 2);
  EXPECT_THAT(reader.read(), IsEmpty()) << "the file is missing";
  write("one\ntwo\nthree\nfo");
  EXPECT_THAT(reader.read(), ElementsAre("two", "three"));
  EXPECT_THAT(reader.read(), IsEmpty());
  write("ur\n\nfive\n");
  EXPECT_THAT(reader.read(), ElementsAre("four", "", "five"));
}

TEST_F(LogReaderTest, ZeroLinesMeansOnlyNewOnes) {
  write("old\n");
  LogReader reader(file_, 0);
  EXPECT_THAT(reader.read(), IsEmpty());
  write("new\n");
  EXPECT_THAT(reader.read(), ElementsAre("new"));
}

TEST_F(LogReaderTest, LosesNothingWhenTheFileIsRenamed) {
  LogFile writer(file_, 40);
  LogReader reader(file_, 100);
  std::vector<std::string> expected, seen;
  for (int i = 0; i < 20; ++i) {
    expected.push_back(fmt::format("line number {}", i));
    writer.append(expected.back());
    for (auto& line : reader.read()) seen.push_back(std::move(line));
  }
  for (auto& line : reader.read()) seen.push_back(std::move(line));
  EXPECT_EQ(seen, expected);
}

TEST_F(LogReaderTest, ReadsARenamedFileToItsEndFirst) {
  LogFile writer(file_, 40);
  LogReader reader(file_, 100);
  EXPECT_THAT(reader.read(), IsEmpty());
  for (int i = 1; i <= 3; ++i) writer.append(fmt::format("line number {}", i));
  EXPECT_THAT(reader.read(), ElementsAre("line number 1", "line number 2"));
  EXPECT_THAT(reader.read(), ElementsAre("line number 3"));
}

TEST_F(LogReaderTest, OfALargeFileOnlyTheEndIsRead) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += fmt::format("line {}\n", i);
  write(text);
  LogReader reader(file_, 1'000'000);
  const auto lines = reader.read();
  EXPECT_LT(lines.size(), 50'000u);
  EXPECT_EQ(lines.back(), "line 99999");
  EXPECT_TRUE(lines.front().starts_with("line ")) << lines.front();
  EXPECT_THAT(reader.read(), IsEmpty());
}

TEST_F(LogReaderTest, ALineWithoutEndStaysBounded) {
  LogReader reader(file_, 10);
  EXPECT_THAT(reader.read(), IsEmpty());
  write("x\n");
  EXPECT_THAT(reader.read(), ElementsAre("x"));
  write(std::string(1'000'000, 'y'));
  std::size_t bytes = 0;
  for (int i = 0; i < 10; ++i)
    for (const auto& line : reader.read()) bytes += line.size();
  EXPECT_GT(bytes, 700'000u);
}

}  // namespace
}  // namespace corral::proc
