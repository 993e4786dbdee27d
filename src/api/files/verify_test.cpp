// POST verify, and what is noticed of files of models in memory.
#include <filesystem>
#include <fstream>
#include <future>

#include "api/api_fixture_for_tests.h"

namespace corral::api {
namespace {

namespace fs = std::filesystem;

class VerifyTest : public ApiTest {
 protected:
  VerifyTest() {
    context.files.verifier = &verifier;
    context.files.watch = &watch;
    handler = make_api(context);
  }
  ~VerifyTest() override { verify_thread.finish(); }

  json::Value verify(std::string body) {
    const auto answer = post("/v1/verify", std::move(body));
    EXPECT_EQ(answer.status, 200u) << answer.text;
    return answer.json();
  }
  static std::string state_of(const json::Value& answer, std::size_t model = 0) {
    return std::string(answer.at("models").at(model).at("files").at(0).at("state").as_string());
  }
  // As a disk that loses bits: nobody has written to it.
  void rot(const std::string& name) const {
    const auto then = fs::last_write_time(dir / name);
    std::fstream file(dir / name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x55');
    file.close();
    fs::last_write_time(dir / name, then);
  }
  void look() {
    bool done = false;
    const auto looking = [](FileWatch& by, bool& looked) -> async::Task<void> {
      co_await by.look();
      looked = true;
    };
    async::TaskGroup group(loop.executor());
    group.spawn("look", looking(watch, done));
    loop.context().restart();
    while (!done) loop.context().run_one();
    settle();
  }

  async::ThreadPool verify_thread{1};
  FileVerifier verifier{dir / "seen.json", verify_thread};
  FileWatch watch{router, threads, timers};
};

TEST_F(VerifyTest, damage_is_named_and_quarantined_on_wish) {
  EXPECT_EQ(state_of(verify(R"({"model_name":"tiny-llama"})")), "first_look");
  EXPECT_EQ(state_of(verify(R"({"model":"tiny-llama"})")), "right");
  rot("tiny-llama.gguf");
  const auto damaged = verify(R"({"model_name":"tiny-llama"})");
  EXPECT_EQ(state_of(damaged), "damaged");
  EXPECT_EQ(damaged.at("status").as_string(), "damaged");
  EXPECT_EQ(damaged.at("damaged").to_number<int>(), 1);
  EXPECT_TRUE(fs::exists(dir / "tiny-llama.gguf"));
  const auto moved = verify(R"({"quarantine":true})");
  EXPECT_EQ(moved.at("models").as_array().size(), 4u);
  EXPECT_EQ(moved.at("damaged").to_number<int>(), 1);
  EXPECT_FALSE(fs::exists(dir / "tiny-llama.gguf"));
  EXPECT_TRUE(fs::exists(dir / "tiny-llama.gguf.damaged"));
  EXPECT_EQ(get("/v1/models/tiny-llama").status, 404u);
  expect_untouched();
}

TEST_F(VerifyTest, it_can_be_told_as_it_goes) {
  const auto answer = post("/v1/verify", R"({"stream":true})");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_THAT(answer.text, HasSubstr("event: complete\n"));
  EXPECT_THAT(answer.text, HasSubstr(R"("files":4,"damaged":0,"unreadable":0,"status":"success")"));
}

TEST_F(VerifyTest, one_at_a_time_and_who_leaves_gives_the_turn_back) {
  std::promise<void> go;
  verify_thread.post([held = go.get_future().share()] { held.wait(); });
  // Named, so that it has its turn at once: all models are looked for on a thread, and the second could come first.
  auto first = send("POST", "/v1/verify", R"({"model_name":"tiny-llama"})");
  const auto refused = post("/v1/verify", "{}");
  EXPECT_EQ(refused.status, 409u);
  EXPECT_EQ(refused.error("code"), "verification_runs");
  first.reset();
  settle();
  go.set_value();
  // Its turn ends on the thread, which comes to it now.
  std::promise<void> passed;
  verify_thread.post([&] { passed.set_value(); });
  passed.get_future().wait();
  EXPECT_EQ(post("/v1/verify", "{}").status, 200u);
}

TEST_F(VerifyTest, what_it_doesnt_understand_is_refused) {
  EXPECT_EQ(post("/v1/verify", R"({"model_name":"no-such-model"})").status, 404u);
  EXPECT_EQ(post("/v1/verify", R"({"quarantaine":true})").error("param"), "quarantaine");
  EXPECT_EQ(post("/v1/verify", R"({"quarantine":"yes"})").error("param"), "quarantine");
}

TEST_F(VerifyTest, a_file_that_changes_under_a_loaded_model_is_noticed_once_and_forgotten_with_it) {
  have("tiny-llama");
  look();
  EXPECT_THAT(watch.changes(), IsEmpty());
  EXPECT_THAT(get("/v1/health").text, testing::Not(HasSubstr(R"("files":)")));
  std::ofstream(dir / "tiny-llama.gguf", std::ios::app) << "more";
  look();
  look();
  EXPECT_THAT(watch.changes(), ElementsAre(FileChange{ModelName("tiny-llama"), dir / "tiny-llama.gguf", false}));
  EXPECT_THAT(get("/v1/health").text, HasSubstr(R"("files":{"changed":[{"model":"tiny-llama",)"));
  fs::remove(dir / "tiny-llama.gguf");
  look();
  EXPECT_THAT(watch.changes(), ElementsAre(FileChange{ModelName("tiny-llama"), dir / "tiny-llama.gguf", true}));
  EXPECT_EQ(post("/v1/unload", R"({"model_name":"tiny-llama"})").status, 200u);
  look();
  EXPECT_THAT(watch.changes(), IsEmpty());
}

}  // namespace
}  // namespace corral::api
