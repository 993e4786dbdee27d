#include "cli/man.h"

#include <gmock/gmock.h>

#include "cli/program.h"
#include "config/docs.h"

namespace corral::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ManPage, HasEveryCommand) {
  const auto page = man_page("November 28, 2026");
  EXPECT_THAT(page, StartsWith(".Dd November 28, 2026\n.Dt CORRAL 1\n"));
  for (const std::string& command : command_names()) EXPECT_THAT(page, HasSubstr("\n.Ss corral " + command + "\n"));
  EXPECT_THAT(page, HasSubstr(".It Fl \\-warm\\-spare , Fl \\-no\\-warm\\-spare\n"));
}

TEST(ManPage, TextsAreNoMacros) {
  EXPECT_EQ(config::mdoc_text(".gguf"), "\\&.gguf");
  EXPECT_EQ(config::mdoc_text("a\\b --c"), "a\\eb \\-\\-c");
  EXPECT_EQ(config::mdoc_argument("say \"No\""), "\"\\&say \\(dqNo\\(dq\"");
}

}  // namespace
}  // namespace corral::cli
