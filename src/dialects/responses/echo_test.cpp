// The members of a request that its answers repeat, with their defaults.
#include "dialects/responses/echo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::dialects::responses {
namespace {

using testing::HasSubstr;

std::string echo(const std::string& body, const StorageRequest& request = {}) {
  const auto peek = json::Peek::open(body);
  EXPECT_TRUE(peek);
  return peek ? echo_of(peek->root(), request) : std::string();
}

TEST(Echo, OfAnEmptyRequestHasEveryDefault) {
  EXPECT_EQ(echo("{}"),
            R"("instructions":null,"max_output_tokens":null,"max_tool_calls":null,"parallel_tool_calls":true,)"
            R"("previous_response_id":null,"conversation":null,"prompt_cache_key":null,)"
            R"("reasoning":{"effort":null,"summary":null},"safety_identifier":null,"service_tier":"default",)"
            R"("store":false,"temperature":1,"presence_penalty":0,"frequency_penalty":0,)"
            R"("text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1,)"
            R"("truncation":"disabled","user":null,"metadata":{})");
}

TEST(Echo, HasTheValuesOfTheRequest) {
  const auto text = echo(R"({"temperature":0.5,"presence_penalty":1.5,"frequency_penalty":-1,"metadata":{"a":"b"},
                             "parallel_tool_calls":null,"tool_choice":{"type":"function","name":"f"}})",
                         {.conversation = "conv_1", .store = true});
  for (const auto* part :
       {R"("temperature":0.5)", R"("presence_penalty":1.5)", R"("frequency_penalty":-1)", R"("metadata":{"a":"b"})",
        R"("parallel_tool_calls":true)", R"("tool_choice":{"type":"function","name":"f"})",
        R"("conversation":{"id":"conv_1"})", R"("store":true)"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(Echo, OfAFunctionHasAllOfItsMembers) {
  EXPECT_THAT(echo(R"({"tools":[{"type":"function","name":"f"}]})"),
              HasSubstr(R"("tools":[{"type":"function","name":"f","description":null,"parameters":null,)"
                        R"("strict":false}])"));
  EXPECT_THAT(echo(R"({"tools":[{"type":"function","name":"f","strict":null,"parameters":{"type": "object"}}]})"),
              HasSubstr(R"({"type":"function","name":"f","parameters":{"type":"object"},"description":null,)"
                        R"("strict":false})"));
  EXPECT_THAT(echo(R"({"tools":[{"type":"function","name":"f","description":"d","parameters":{},"strict":true}]})"),
              HasSubstr(R"({"type":"function","name":"f","description":"d","parameters":{},"strict":true})"));
  EXPECT_THAT(echo(R"({"tools":[{"type":"custom","name":"c"},{"type":"web_search"}]})"),
              HasSubstr(R"("tools":[{"type":"custom","name":"c"},{"type":"web_search"}])"));
}

TEST(Echo, OfOptionsInObjectsHasAllOfTheirMembers) {
  EXPECT_THAT(echo(R"({"reasoning":{"effort":"low"}})"), HasSubstr(R"("reasoning":{"effort":"low","summary":null})"));
  EXPECT_THAT(echo(R"({"reasoning":{"summary":"auto"}})"),
              HasSubstr(R"("reasoning":{"summary":"auto","effort":null})"));
  EXPECT_THAT(echo(R"({"text":{"verbosity":"low"}})"),
              HasSubstr(R"("text":{"verbosity":"low","format":{"type":"text"}})"));
  EXPECT_THAT(echo(R"({"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}}})"),
              HasSubstr(R"("text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"},)"
                        R"("description":null,"strict":false}})"));
}

TEST(Echo, LeavesLargeMembersOut) {
  const std::string large(70'000, 'x');
  EXPECT_EQ(echo(R"({"instructions":")" + large + R"(","tools":[{"type":"function","name":"f","description":")" +
                 large + R"("}]})"),
            echo("{}"));
}

}  // namespace
}  // namespace corral::dialects::responses
