#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"
#include "cli/loading.h"

namespace corral::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kLoad = "POST /api/v1/load";

class LoadCommandTest : public ProgramTest {
 protected:
  void model_of_type(const std::string& type) {
    server_.on("GET /api/v1/models/m", R"({"id":"m","type":")" + type + R"("})");
  }
  void health(const std::string& fields) { server_.on("GET /api/v1/health", "{" + fields + "}"); }
};

TEST_F(LoadCommandTest, ShowsProgressAndThenTheOutcome) {
  server_.on(kLoad, Scripted{.events = {{"progress", R"({"model":"m","progress":0.5,"stage":"weights"})"},
                                        {"complete", R"({"status":"success","model_name":"m"})"}},
                             .meanwhile = [this] { clock_.time += Millis(1'200); }});
  EXPECT_EQ(run({"load", "m", "--ctx-size", "4096", "--pinned"}), kExitOk);
  EXPECT_EQ(out(), "m is loaded (1.2 s)\n");
  EXPECT_THAT(err(), HasSubstr("Loading m [============            ]  50 %  weights"));
  EXPECT_TRUE(err().ends_with("\r\x1b[K"));  // nothing of the bar stays
  EXPECT_THAT(server_.bodies(kLoad), ElementsAre(R"({"model_name":"m","ctx_size":4096,"pinned":true,"stream":true})"));
}

TEST_F(LoadCommandTest, TellsTheContext) {
  server_.on(kLoad, Scripted{.events = {{"complete", R"({"context_length":32768,"max_context_length":131072})"}}});
  EXPECT_EQ(run({"load", "m"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("32768/131072 tokens of context"));
}

TEST_F(LoadCommandTest, TellsWhatIsToBeKnownOfTheContext) {
  server_.on(kLoad,
             Scripted{.events = {{"complete",
                                  R"({"context_length":2048,"max_context_length":2048,"warnings":["too much"]})"}}});
  EXPECT_EQ(run({"load", "m", "--ctx-size", "4096"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr(", 2048 tokens of context)"));
  EXPECT_THAT(err(), HasSubstr("warning: too much\n"));
}

// It was "loaded in 0 ms".
TEST_F(LoadCommandTest, AModelInMemoryIsNotLoadedAgain) {
  server_.on(kLoad, Scripted{.events = {{"complete", R"({"already_loaded":true,"context_length":4096})"}}});
  EXPECT_EQ(run({"load", "m"}), kExitOk);
  EXPECT_EQ(out(), "m is already loaded (4096 tokens of context)\n");
  EXPECT_EQ(err(), "");
}

// Of a mapped file the share is 0 until it is 100 %.
TEST_F(LoadCommandTest, WithoutAShareThePhaseAndTheTimeAreShown) {
  server_.on(kLoad, Scripted{.events = {{"progress", R"({"progress":0,"stage":"queued"})"},
                                        {"progress", R"({"progress":0,"stage":"loading"})"},
                                        {"progress", R"({"progress":0,"stage":"loading"})"},
                                        {"progress", R"({"progress":1,"stage":"loading"})"},
                                        {"complete", "{}"}},
                             .meanwhile = [this] { clock_.time += Millis(3'200); }});
  EXPECT_EQ(run({"load", "m"}), kExitOk);
  EXPECT_EQ(err(),
            "\r\x1b[KLoading m | waiting in the load queue, 3 s"
            "\r\x1b[KLoading m / loading, 3 s"
            "\r\x1b[KLoading m - loading, 3 s"
            "\r\x1b[KLoading m \\ preparing, 3 s"
            "\r\x1b[K");
}

TEST_F(LoadCommandTest, CtrlCCancelsTheLoad) {
  server_.on(kLoad, Scripted{.events = {{"progress", R"({"progress":0.5,"stage":"loading"})"}},
                             .error = Error{errc::interrupted, "interrupted"}});
  EXPECT_EQ(run({"load", "m"}), kExitInterrupted);
  EXPECT_TRUE(err().ends_with("\r\x1b[K\ncorral: the load of 'm' is cancelled\n")) << err();
  EXPECT_EQ(out(), "");
}

TEST_F(LoadCommandTest, NoBarWhereNobodyWatches) {
  pipe_everything();
  server_.on(kLoad, Scripted{.events = {{"progress", R"({"progress":0.5})"}, {"complete", "{}"}}});
  EXPECT_EQ(run({"load", "m"}), kExitOk);
  EXPECT_EQ(err(), "");
}

TEST_F(LoadCommandTest, AllOptionsReachTheServer) {
  server_.on(kLoad, Scripted{.events = {{"complete", "{}"}}});
  run({"load", "m", "--ctx-size", "auto", "--parallel", "2", "--threads", "3", "--gpu-layers", "-1", "--no-pinned"});
  EXPECT_THAT(
      server_.bodies(kLoad),
      ElementsAre(
          R"({"model_name":"m","ctx_size":-1,"parallel":2,"threads":3,"gpu_layers":-1,"pinned":false,"stream":true})"));
}

TEST_F(LoadCommandTest, HowAModelLeavesMemoryAndWhatIsSavedReachTheServer) {
  server_.on(kLoad, Scripted{.events = {{"complete", "{}"}}});
  run({"load", "m", "--auto-evict", "--downsize-idle-timeout", "30", "--evict-idle-timeout", "1.5",
       "--evict-weight-factor", "2", "--llamacpp-args", "-c 512", "--save-options"});
  EXPECT_THAT(server_.bodies(kLoad),
              ElementsAre(R"({"model_name":"m","auto_evict":true,"downsize_idle_timeout":30,"evict_idle_timeout":1.5,)"
                          R"("evict_weight_factor":2,"llamacpp_args":"-c 512","save_options":true,"stream":true})"));
  EXPECT_EQ(run({"load", "m", "--no-auto-evict"}), kExitOk);
  EXPECT_EQ(server_.bodies(kLoad).back(), R"({"model_name":"m","auto_evict":false,"stream":true})");
}

TEST_F(LoadCommandTest, WhoGuessesReachesTheServer) {
  server_.on(kLoad, Scripted{.events = {{"complete", "{}"}}});
  run({"load", "m", "--speculative", "4", "--draft-model", "/a/b.gguf"});
  EXPECT_THAT(server_.bodies(kLoad),
              ElementsAre(R"({"model_name":"m","speculative":4,"draft_model":"/a/b.gguf","stream":true})"));
}

TEST_F(LoadCommandTest, TheBackendHasAnOlderFlagToo) {
  server_.on(kLoad, Scripted{.events = {{"complete", "{}"}}});
  for (const char* flag : {"--llamacpp", "--llamacpp-backend"}) {
    EXPECT_EQ(run({"load", "m", flag, "cpu"}), kExitOk);
    EXPECT_EQ(server_.bodies(kLoad).back(), R"({"model_name":"m","llamacpp_backend":"cpu","stream":true})");
  }
}

TEST_F(LoadCommandTest, AdaptersGoByTheirWholePath) {
  server_.on(kLoad, Scripted{.events = {{"complete", "{}"}}});
  EXPECT_EQ(run({"load", "m", "--lora", "/a/b.gguf:0.5", "--lora", "c.gguf"}), kExitOk);
  const auto here = std::filesystem::current_path().native();
  EXPECT_THAT(server_.bodies(kLoad),
              ElementsAre(R"({"model_name":"m","lora":["/a/b.gguf:0.5",")" + here + R"(/c.gguf"],"stream":true})"));
}

TEST_F(LoadCommandTest, EstimateShowsEachDeviceAndTheWhole) {
  constexpr const char* kEstimate = "POST /api/v1/estimate";
  server_.on(kEstimate,
             R"({"model_name":"m","memory":{"devices":[
               {"device":"cpu","weights":1048576,"kv":2097152,"compute":3145728,"total":6291456},
               {"device":"cuda0","weights":10485760,"kv":0,"compute":0,"total":10485760}],
               "process":20971520,"mapped":524288,"total":37748736,"resident":26738688}})");
  EXPECT_EQ(run({"estimate", "m", "--ctx-size", "4096"}), kExitOk);
  EXPECT_THAT(server_.bodies(kEstimate), ElementsAre(R"({"model_name":"m","ctx_size":4096})"));
  EXPECT_EQ(
      out(),
      "DEVICE  WEIGHTS       KV  COMPUTE    TOTAL\n"
      "cpu     1.0 MiB  2.0 MiB  3.0 MiB  6.0 MiB\n"
      "cuda0    10 MiB      0 B      0 B   10 MiB\n"
      "With the process itself (20 MiB): 36 MiB.\n"
      "The process will show 26 MiB of host memory; 512 KiB of it are pages of the model's file, which the system "
      "can drop and read again.\n");
  EXPECT_EQ(run({"estimate", "m", "--json"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("cuda0"));
}

TEST_F(LoadCommandTest, AFailureInTheStream) {
  server_.on(kLoad,
             Scripted{.events = {{"progress", R"({"progress":0.1})"},
                                 {"error", R"({"error":{"message":"out of memory","code":"model_load_error"}})"}}});
  EXPECT_EQ(run({"load", "m"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("corral: out of memory\n"));
  EXPECT_EQ(out(), "");
}

TEST_F(LoadCommandTest, ARefusalBeforeTheStream) {
  server_.on(kLoad, Scripted{.status = 404, .body = R"({"error":{"message":"no model 'm'; did you mean 'n'?"}})"});
  EXPECT_EQ(run({"load", "m"}), kExitFailed);
  EXPECT_EQ(err(), "corral: no model 'm'; did you mean 'n'?\n");  // and no bar
}

TEST_F(LoadCommandTest, AStreamThatEndsTooEarly) {
  server_.on(kLoad, Scripted{.events = {{"progress", R"({"progress":0.1})"}}});
  EXPECT_EQ(run({"load", "m"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("closed the connection before 'm' was loaded"));
}

TEST_F(LoadCommandTest, AServerThatDoesNotStream) {
  server_.on(kLoad, R"({"status":"success","model_name":"m"})");
  EXPECT_EQ(run({"load", "m"}), kExitOk);
}

TEST_F(LoadCommandTest, JsonAsksForOneAnswer) {
  server_.on(kLoad, R"({"status":"success"})");
  EXPECT_EQ(run({"load", "m", "--json"}), kExitOk);
  EXPECT_EQ(out(), "{\"status\":\"success\"}\n");
  EXPECT_THAT(server_.bodies(kLoad), ElementsAre(R"({"model_name":"m"})"));
}

TEST_F(LoadCommandTest, OverSeveralNodes) {
  server_.on(kLoad, R"({"status":"success"})");
  EXPECT_EQ(run({"load", "m", "--split", "a,b", "--json"}), kExitOk);
  EXPECT_THAT(server_.bodies(kLoad), ElementsAre(R"({"model_name":"m","split":["a","b"]})"));
}

TEST_F(LoadCommandTest, WarnsWhenPinnedModelsTakeEverySlot) {
  model_of_type("llm");
  health(R"("max_models":{"llm":2},"pinned_models":{"llm":2})");
  server_.on(kLoad, Scripted{.status = 409, .body = R"({"error":{"message":"all pinned"}})"});
  EXPECT_EQ(run({"load", "m"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("warning: pinned models hold all 2 slots of type llm"));
}

TEST_F(LoadCommandTest, DoesNotWarnWhenThereIsRoom) {
  server_.on(kLoad, Scripted{.events = {{"complete", "{}"}}});
  model_of_type("llm");
  health(R"("max_models":{"llm":2},"pinned_models":{"llm":1})");
  health(R"("max_models":{"llm":-1},"pinned_models":{"llm":5})");
  health(R"("max_models":{"llm":1},"pinned_models":{"llm":1},"all_models_loaded":[{"model_name":"m"}])");
  health(R"("max_models":{"embedding":1},"pinned_models":{"embedding":1})");
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(run({"load", "m"}), kExitOk);
    EXPECT_THAT(err(), Not(HasSubstr("warning"))) << i;
  }
}

TEST(ModelPath, EscapesWhatAPathCannotHold) {
  EXPECT_EQ(model_path("org/repo:Q4"), "/api/v1/models/org/repo%3AQ4");
  EXPECT_EQ(model_path("a b?c#d%"), "/api/v1/models/a%20b%3Fc%23d%25");
}

}  // namespace
}  // namespace corral::cli
