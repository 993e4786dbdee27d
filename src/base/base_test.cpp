#include <gtest/gtest.h>

#include "base/error.h"
#include "base/error_table.h"
#include "base/log.h"
#include "base/named.h"

namespace corral::base_test_errors {
enum class errc { missing = 1, broken };
}
CORRAL_DECLARE_ERRC(corral::base_test_errors);

namespace corral::base_test_errors {
const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {{"missing", ErrorKind::not_found}, {"broken", ErrorKind::internal}};
  static const TableCategory category("base_test", kRows);
  return category;
}
}  // namespace corral::base_test_errors

namespace corral {
namespace {

TEST(Named, ComparesAndHashesByValue) {
  const ModelName a("a"), b("b");
  EXPECT_LT(a, b);
  EXPECT_EQ(std::hash<ModelName>{}(a), std::hash<ModelName>{}(ModelName("a")));
  static_assert(!std::is_convertible_v<std::string, ModelName>);
}

TEST(Error, CarriesTheCauseAndTheField) {
  const Result<int> result = fail(base_test_errors::errc::broken, "it broke", "field");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, base_test_errors::errc::broken);
  EXPECT_EQ(result.error().code.message(), "broken");
  EXPECT_EQ(result.error().param, "field");
}

TEST(Error, CarriesFactsOfItsCauseByType) {
  struct Missing {
    int needed = 0;
  };
  struct Other {};
  Error error(base_test_errors::errc::missing, "3 are missing");
  EXPECT_EQ(error.fact<Missing>(), nullptr);
  error.facts = Missing{3};
  const Error copy = error;
  ASSERT_NE(copy.fact<Missing>(), nullptr);
  EXPECT_EQ(copy.fact<Missing>()->needed, 3);
  EXPECT_EQ(copy.fact<Other>(), nullptr);
}

TEST(Error, KindComesFromTheTable) {
  EXPECT_EQ(kind_of(base_test_errors::errc::missing), ErrorKind::not_found);
  EXPECT_EQ(kind_of(std::make_error_code(std::errc::io_error)), ErrorKind::internal);
}

TEST(Error, UnknownValueOfATableIsNamedSo) {
  EXPECT_EQ(base_test_errors::error_category().message(99), "unknown");
  EXPECT_EQ(base_test_errors::error_category().message(0), "unknown");
}

TEST(Log, ParsesItsLevelsAndNothingElse) {
  EXPECT_EQ(log::parse_level("warning"), log::Level::warning);
  EXPECT_EQ(log::parse_level("loud"), std::nullopt);
}

TEST(Log, RecentLinesHaveNumbers) {
  log::info("test", "before");
  const auto next = log::recent_from(0).next;
  EXPECT_TRUE(log::recent_from(next).lines.empty());
  log::info("test", "first");
  log::warning("test", "second");
  const auto both = log::recent_from(next);
  ASSERT_EQ(both.lines.size(), 2u);
  EXPECT_TRUE(both.lines[0].ends_with("info    [test] first\n")) << both.lines[0];
  EXPECT_TRUE(both.lines[1].ends_with("warning [test] second\n")) << both.lines[1];
  EXPECT_EQ(both.missed, 0u);
  EXPECT_EQ(both.next, next + 2);
  EXPECT_EQ(log::recent_from(next + 1).lines.size(), 1u);
  EXPECT_TRUE(log::recent_from(next + 99).lines.empty());
}

TEST(Log, RecentLinesAreBoundedAndAReaderLearnsWhatItMissed) {
  const auto next = log::recent_from(0).next;
  const std::string line(64 * 1024, 'x');
  for (int i = 0; i < 10; ++i) log::info("test", "{}", line);
  const auto late = log::recent_from(next);
  EXPECT_LE(late.lines.size(), 4u);
  EXPECT_EQ(late.missed + late.lines.size(), 10u);
  for (int i = 0; i < 2000; ++i) log::info("test", "short");
  EXPECT_EQ(log::recent().size(), 1000u);
  EXPECT_EQ(log::recent_from(next).missed, 1010u);
}

}  // namespace
}  // namespace corral
