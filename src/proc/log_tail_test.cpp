#include "proc/log_tail.h"

#include <fstream>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proc/log_sink.h"

namespace corral::proc {
namespace {

std::vector<std::string> split(const std::vector<std::string>& chunks, std::size_t line_bytes = 100) {
  std::vector<std::string> lines;
  const auto take = [&](std::string line) { lines.push_back(std::move(line)); };
  LineSplitter splitter(line_bytes);
  for (const auto& chunk : chunks) splitter.feed(chunk, take);
  splitter.finish(take);
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LineSplitter, CutsAtNewlinesWhereverTheChunksEnd) {
  EXPECT_EQ(split({"a\nb", "c\n", "", "\nd"}), (Lines{"a", "bc", "", "d"}));
}

TEST(LineSplitter, ProgressBarsLeaveTheirLastState) {
  EXPECT_EQ(split({"10%\r50%", "\r100%\r", "\nnext\r\n", "a\r\r\n"}), (Lines{"100%", "next", "a"}));
}

TEST(LineSplitter, LongLinesAreCutBetweenCharacters) {
  EXPECT_EQ(split({"abcdefgh\nok\n"}, 5), (Lines{"abcde…", "ok"}));
  EXPECT_EQ(split({"abcdé\n"}, 5), (Lines{"abcd…"}));
  EXPECT_EQ(split({"abcé\n"}, 5), (Lines{"abcé"}));
}

TEST(LineSplitter, ResultDoesntDependOnTheChunks) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    const char kinds[] = {'a', '\n', '\r', '\xC3', '\xA9', '\0', '\xF0', 'b'};
    for (int i = 0; i < 60; ++i) bytes += kinds[random() % std::size(kinds)];
    Lines chunks;
    for (std::size_t at = 0; at < bytes.size();) {
      const auto size = 1 + random() % 5;
      chunks.push_back(bytes.substr(at, size));
      at += size;
    }
    ASSERT_EQ(split(chunks, 9), split({bytes}, 9)) << "round " << round;
  }
}

TEST(CleanText, KeepsUtf8AndReplacesTheRest) {
  EXPECT_EQ(clean_text("tab\t é € 😀"), "tab\t é € 😀");
  EXPECT_EQ(clean_text("\x1B[31m"), "\uFFFD[31m");
  EXPECT_EQ(clean_text("\xC0\xAF|\xED\xA0\x80|\xF4\x90\x80\x80|\xE2\x82"),
            "\uFFFD\uFFFD|\uFFFD\uFFFD\uFFFD|\uFFFD\uFFFD\uFFFD\uFFFD|\uFFFD\uFFFD");
}

TEST(LogTail, KeepsTheNewestWithinItsLimits) {
  LogTail tail({.lines = 3, .line_bytes = 100, .bytes = 10});
  for (const auto* line : {"one", "two", "three", "four"}) tail.add(line);
  EXPECT_EQ(tail.text(), "three\nfour");
  EXPECT_EQ(tail.text(1), "four");
  EXPECT_EQ(LogTail({}).text(), "");
}

TEST(LogFile, RotatesOnceAndContinuesAnOldFile) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "corral_log_file_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto path = folder / "child.log";
  LogFile(path, 20).append("0123456789");
  LogFile file(path, 20);
  file.append("abcdefgh");
  EXPECT_EQ(std::filesystem::file_size(path), 20u);
  for (int i = 0; i < 10; ++i) file.append("next");
  EXPECT_LE(std::filesystem::file_size(path), 20u);
  EXPECT_LE(std::filesystem::file_size(folder / "child.log.1"), 20u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
  std::filesystem::remove_all(folder);
}

TEST(LogFile, BeginsWithoutTheLinesOfEarlierProcesses) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "corral_log_begin_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto path = folder / "engine-1.log";
  LogFile(path, 1000, true).append("earlier");
  LogFile(path, 1000, true).append("now");
  EXPECT_EQ(std::filesystem::file_size(path), 4u);
  EXPECT_EQ(std::filesystem::file_size(folder / "engine-1.log.1"), 8u);
  std::filesystem::remove_all(folder);
}

TEST(LogFile, OnlyTheUserMayReadIt) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "corral_log_mode_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto path = folder / "child.log";
  constexpr auto kOurs = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::ofstream(path) << "of an earlier version\n";
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  LogFile file(path, 30);
  EXPECT_EQ(std::filesystem::status(path).permissions(), kOurs);
  file.append("a line that is too long for the rest");
  file.append("another");
  EXPECT_EQ(std::filesystem::status(path).permissions(), kOurs);
  EXPECT_EQ(std::filesystem::status(folder / "child.log.1").permissions(), kOurs);
  std::filesystem::remove_all(folder);
}

TEST(LogFile, TheNewestStay) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "corral_log_count_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (int i = 1; i <= 6; ++i) {
    const auto path = folder / fmt::format("engine-{}.log", i);
    std::ofstream(path) << "text";
    std::ofstream(folder / fmt::format("engine-{}.log.1", i)) << "older";
    std::filesystem::last_write_time(path, std::filesystem::file_time_type() + std::chrono::hours(i == 2 ? 9 : i));
  }
  std::ofstream(folder / "notes.txt") << "mine";
  keep_newest_logs(folder, 3);
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) left.insert(entry.path().filename());
  EXPECT_THAT(left, testing::ElementsAre("engine-2.log", "engine-2.log.1", "engine-5.log", "engine-5.log.1",
                                         "engine-6.log", "engine-6.log.1", "notes.txt"));
  keep_newest_logs(folder / "none", 3);
  std::filesystem::remove_all(folder);
}

TEST(LogFile, UnwritablePathDoesNoHarm) { LogFile("/proc/none/child.log", 20).append("line"); }

}  // namespace
}  // namespace corral::proc
