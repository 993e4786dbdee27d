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

}  // namespace
}  // namespace corral
