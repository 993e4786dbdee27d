#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kVerify = "POST /api/v1/verify";
constexpr const char* kDamaged =
    R"({"models":[{"model_name":"m","files":[)"
    R"({"path":"/srv/m.gguf","state":"right","size":1048576,"sha256":"aa"},)"
    R"({"path":"/srv/m-mmproj.gguf","state":"damaged","size":2048,"sha256":"bb","moved_to":"/srv/m-mmproj.gguf.damaged",)"
    R"("advice":"get it anew"}]}],"files":2,"damaged":1,"unreadable":0,"status":"damaged"})";

class VerifyCommandTest : public ProgramTest {};

TEST_F(VerifyCommandTest, it_lists_each_file_and_fails_where_one_is_damaged) {
  server_.on(kVerify, Scripted{.events = {{"progress", R"({"model":"m","bytes_done":1,"bytes_total":2})"},
                                          {"complete", kDamaged}}});
  EXPECT_EQ(run({"verify", "m", "--quarantine"}), kExitFailed);
  EXPECT_THAT(server_.bodies(kVerify), ElementsAre(R"({"model_name":"m","quarantine":true,"stream":true})"));
  EXPECT_EQ(out(),
            "MODEL  FILE              SIZE  STATE\n"
            "m      m.gguf         1.0 MiB  ok\n"
            "m      m-mmproj.gguf  2.0 KiB  damaged\n");
  EXPECT_THAT(err(), HasSubstr("/srv/m-mmproj.gguf is damaged, and is now /srv/m-mmproj.gguf.damaged: get it anew\n"));
}

TEST_F(VerifyCommandTest, json_is_what_the_server_says_and_fails_as_well) {
  server_.on(kVerify, std::string(kDamaged));
  EXPECT_EQ(run({"verify", "--json"}), kExitFailed);
  EXPECT_THAT(server_.bodies(kVerify), ElementsAre("{}"));
  EXPECT_EQ(out(), std::string(kDamaged) + "\n");
}

TEST_F(VerifyCommandTest, a_first_look_is_explained_and_no_failure) {
  server_.on(kVerify,
             Scripted{.events = {{"complete",
                                  R"({"models":[{"model_name":"m","files":[{"path":"/m.gguf","state":"first_look",)"
                                  R"("size":1024}]}],"status":"success"})"}}});
  EXPECT_EQ(run({"verify"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("first check"));
  EXPECT_THAT(err(), HasSubstr("no earlier hash to compare with"));
}

TEST_F(VerifyCommandTest, refusals_and_ends_are_told) {
  server_.on(kVerify, Scripted{.status = 409, .body = R"({"error":{"message":"files are being verified already"}})"});
  EXPECT_EQ(run({"verify"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("files are being verified already"));
  server_.answers.clear();
  server_.on(kVerify, Scripted{.events = {{"error", R"({"error":{"message":"no space left"}})"}}});
  EXPECT_EQ(run({"verify"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("no space left"));
}

TEST_F(VerifyCommandTest, ps_says_which_models_files_have_changed) {
  server_.on("GET /api/v1/health",
             R"({"all_models_loaded":[{"model_name":"a","status":"ready"},{"model_name":"b","status":"ready"}],)"
             R"("files":{"changed":[{"model":"b","file":"/srv/b.gguf","change":"changed"}]}})");
  EXPECT_EQ(run({"ps"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("ready (file changed)"));
  EXPECT_EQ(out().find("(file changed)"), out().rfind("(file changed)"));
}

}  // namespace
}  // namespace corral::cli
