// `corral requests` and `corral cancel`.
#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kRunning = R"({"requests":[
  {"id":"req-1a","kind":"inference","model":"tiny","status":"running","age_ms":1043,"client":"curl/7.88.1 linux",
   "key":"laptop","output_tokens":973},
  {"id":"req-1b","kind":"inference","model":"tiny","status":"queued","age_ms":3000},
  {"id":"req-2","kind":"load","model":"other","status":"running","age_ms":90},
  {"id":"req-3","kind":"load","model":"third","status":"queued","age_ms":80}]})";
constexpr const char* kUnknownId =
    R"({"error":{"message":"no running request has the ID","code":"request_not_found"}})";

class RequestsCommandTest : public ProgramTest {
 protected:
  void finds(const std::string& id) {
    server_.on("POST /api/v1/requests/" + id + "/cancel", R"({"status":"success","id":")" + id + R"("})");
  }
  void finds_not(const std::string& id) {
    server_.on("POST /api/v1/requests/" + id + "/cancel", Scripted{.status = 404, .body = kUnknownId});
  }
};

TEST_F(RequestsCommandTest, ListsInferenceAndLoads) {
  pipe_everything();
  server_.on("GET /api/v1/requests", kRunning);
  EXPECT_EQ(run({"requests"}), kExitOk);
  EXPECT_EQ(out(),
            "MODEL  ID      STATE          AGE  TOKENS  CLIENT       KEY\n"
            "tiny   req-1a  running      1.0 s     973  curl/7.88.1  laptop\n"
            "tiny   req-1b  queued       3.0 s       -  -            -\n"
            "other  req-2   loading      90 ms       -  -            -\n"
            "third  req-3   load queued  80 ms       -  -            -\n");
  EXPECT_EQ(err(), "");
}

TEST_F(RequestsCommandTest, AMeshHasAColumnOfItsNodes) {
  server_.on("GET /api/v1/requests", R"({"requests":[{"id":"a","model":"m","node":"0123456789abcdef"},{"id":"b"}]})");
  EXPECT_EQ(run({"requests"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("NODE"));
  EXPECT_THAT(out(), HasSubstr("  0123456789ab\n"));
  EXPECT_THAT(out(), HasSubstr("  here\n"));
}

TEST_F(RequestsCommandTest, AnIdleServerHasNone) {
  server_.on("GET /api/v1/requests", R"({"requests":[]})");
  EXPECT_EQ(run({"requests"}), kExitOk);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "No request runs or waits\n");
  EXPECT_EQ(run({"requests", "--json"}), kExitOk);
  EXPECT_EQ(out(), "{\"requests\":[]}\n");
}

TEST_F(RequestsCommandTest, CancelTriesAllAndReportsWhatFailed) {
  finds("req-1a");
  finds_not("no%2Fsuch");
  finds("req-2");
  server_.on("GET /api/v1/requests", kRunning);
  EXPECT_EQ(run({"cancel", "req-1a", "no/such", "req-2"}), kExitFailed);
  EXPECT_EQ(out(), "req-1a is cancelled\nreq-2 is cancelled\n");
  EXPECT_EQ(err(), "corral: no running request has the ID\n");
}

TEST_F(RequestsCommandTest, TheBeginningOfAnIdIsEnoughIfOnlyOneRequestHasIt) {
  server_.on("GET /api/v1/requests", kRunning);
  finds_not("req-1");
  finds_not("req-2x");
  EXPECT_EQ(run({"cancel", "req-1"}), kExitFailed) << "two have it";
  EXPECT_EQ(run({"cancel", "req-2x"}), kExitFailed);
  finds("req-3");
  finds_not("req");
  server_.answers["GET /api/v1/requests"] = {Scripted{.body = R"({"requests":[{"id":"req-3"}]})"}};
  EXPECT_EQ(run({"cancel", "req"}), kExitOk);
  EXPECT_EQ(out(), "req-3 is cancelled\n");
}

TEST_F(RequestsCommandTest, JsonIsWhatTheServerSaid) {
  finds("req-1a");
  finds_not("x");
  EXPECT_EQ(run({"cancel", "req-1a", "x", "--json"}), kExitFailed);
  EXPECT_EQ(out(), std::string(R"({"status":"success","id":"req-1a"})") + "\n" + kUnknownId + "\n");
  EXPECT_EQ(err(), "");
}

TEST_F(RequestsCommandTest, CancelNeedsAnId) {
  EXPECT_EQ(run({"cancel"}), kExitUsage);
  EXPECT_TRUE(server_.requests.empty());
}

}  // namespace
}  // namespace corral::cli
