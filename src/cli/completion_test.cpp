#include "cli/completion.h"

#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CompletionTest : public ProgramTest {
 protected:
  CompletionTest() { server_.on("GET /api/v1/models", R"({"data":[{"id":"tiny-llama"},{"id":"org/repo:Q8_0"}]})"); }
  std::string offers(std::vector<std::string> words) {
    words.insert(words.begin(), kCompleteCommand);
    EXPECT_EQ(run(words), kExitOk);
    return out();
  }
};

TEST_F(CompletionTest, OffersCommandsWithTheirSummaries) {
  EXPECT_EQ(offers({"un"}),
            "unimport\tStop listing the models of Ollama or LM Studio\nunload\tUnload a model, or all "
            "models\nunpin\tUnpin a model, so that it can be evicted\n");
  EXPECT_THAT(offers({"mesh", "token", ""}), AllOf(HasSubstr("list\t"), HasSubstr("withdraw\t")));
  EXPECT_EQ(offers({"no such command", ""}), "");
  EXPECT_EQ(offers({}), "");
  EXPECT_TRUE(server_.requests.empty());
}

TEST_F(CompletionTest, OffersFlagsOfTheCommandAndOfItsParents) {
  EXPECT_THAT(offers({"serve", "--warm"}), StartsWith("--warm-spare\t"));
  EXPECT_THAT(offers({"serve", "--no-warm"}), StartsWith("--no-warm-spare\t"));
  EXPECT_THAT(offers({"mesh", "nodes", "--"}),
              AllOf(HasSubstr("--json\t"), HasSubstr("--url\t"), Not(HasSubstr("--version"))));
}

TEST_F(CompletionTest, OffersModelsOfTheServer) {
  EXPECT_EQ(offers({"load", ""}), "tiny-llama\norg/repo:Q8_0\n");
  EXPECT_EQ(offers({"run", "--seed", "4", "ti"}), "tiny-llama\n");
  EXPECT_EQ(offers({"run", "--seed", ""}), "") << "a number belongs here";
  EXPECT_EQ(offers({"load", "tiny-llama", ""}), "") << "load takes one model";
}

TEST_F(CompletionTest, IsSilentWithoutAServer) {
  server_.answers.clear();
  server_.on("GET /api/v1/models", Scripted{.error = Error{errc::no_server, "no server"}});
  EXPECT_EQ(offers({"load", ""}), "");
  EXPECT_EQ(err(), "");
}

}  // namespace
}  // namespace corral::cli
