#include "backends/external/external_backend.h"

#include "backends/external/external_backend_fixture_for_tests.h"

namespace corral::backends {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using ExternalBackendTest = ExternalBackendFixture;

TEST_F(ExternalBackendTest, AServerIsStartedWaitedForAndAskedInItsWords) {
  make(kOnSocket);
  serve();
  played_.not_yet = 2;
  LoadOptions wanted;
  wanted.ctx_size = 512;
  load(wanted);
  EXPECT_FALSE(loaded_);
  for (int i = 0; i < 8 && !loaded_; ++i) pass(Millis(300));
  ASSERT_TRUE(loaded_);
  ASSERT_TRUE(*loaded_) << loaded_->error().message;
  EXPECT_THAT(played_.paths, ElementsAre("/ready", "/ready", "/ready"));
  const auto& spec = process().spec();
  const auto socket = (dir_ / "external-1.sock").native();
  EXPECT_THAT(spec.argv, ElementsAre((dir_ / "tool").native(), "--socket", socket, "-m", (dir_ / "model.bin").native(),
                                     "-c", "512", "-x", "a b"));
  EXPECT_EQ(spec.environment.at("NAME"), "m");
  EXPECT_FALSE(spec.environment.contains("NOT_SET"));
  EXPECT_FALSE(spec.binds_itself);
  EXPECT_GT(spec.log.bytes_per_second, 0u);
  EXPECT_EQ(server_->facts().context_window, 512u);

  const auto answer = post("/v1/chat/completions", R"({"model":"m","x":1})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->head.status, 200u);
  EXPECT_EQ(played_.paths.back(), "/chat");
  EXPECT_EQ(played_.body, R"({"model":"theirs","x":1})");
  const auto refused = post("/v1/embeddings", "{}");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->head.status, 400u);
  EXPECT_EQ(refused->failure->code, external::errc::not_served);
  stop(Millis(100));
  EXPECT_THAT(process().signals(), ElementsAre(SIGTERM));
  EXPECT_FALSE(std::filesystem::exists(socket));
}

TEST_F(ExternalBackendTest, AnEndWhileItLoadsSaysWithWhichLastWords) {
  make(kOnSocket);
  spawner_.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    process->print("no such file", true);
    process->exit(2);
    co_return;
  };
  load();
  pass(Millis(300));
  ASSERT_TRUE(loaded_);
  EXPECT_EQ(loaded_->error().code, errc::load_crashed);
  EXPECT_THAT(loaded_->error().message, AllOf(HasSubstr("exited with code 2"), HasSubstr("no such file")));
}

TEST_F(ExternalBackendTest, BeforeItListensOnlyItsDeadlineEndsItsLoad) {
  make(kOnSocket);
  load();
  pass(Millis(300));
  const auto before = server_->work();
  pass(Millis(300));
  EXPECT_NE(server_->work(), before) << "the watchdog takes it for busy";
  EXPECT_FALSE(loaded_);
  for (int i = 0; i < 110 && !loaded_; ++i) pass(Millis(300));
  ASSERT_TRUE(loaded_);
  EXPECT_THAT(loaded_->error().message, HasSubstr("within 30 s: no process listens there"));
}

TEST_F(ExternalBackendTest, ErrorsOfAProgramHaveTheShapeOfOpenAI) {
  make(kOnSocket);
  serve();
  load();
  for (int i = 0; i < 8 && !loaded_; ++i) pass(Millis(300));
  ASSERT_TRUE(loaded_ && *loaded_);
  played_.status = 400;
  played_.answer_body = "Invalid request";
  const auto answer = post("/v1/chat/completions", R"({"model":"m"})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->head.status, 400u);
  EXPECT_EQ(
      answer->body.text(),
      R"({"error":{"message":"Invalid request","type":"invalid_request_error","code":"invalid_request","param":null}})");
  stop(Millis(0));
}

TEST_F(ExternalBackendTest, ItsDeadlineSaysWhatItWaitedFor) {
  make(kOnSocket);
  serve();
  played_.not_yet = 1000;
  load();
  for (int i = 0; i < 10; ++i) pass(Millis(300));
  EXPECT_FALSE(loaded_);
  const auto work = server_->work();
  for (int i = 0; i < 100 && !loaded_; ++i) pass(Millis(300));
  ASSERT_TRUE(loaded_);
  EXPECT_EQ(loaded_->error().code, errc::load_failed);
  EXPECT_THAT(loaded_->error().message, HasSubstr("within 30 s: GET /ready returned 503, not 200"));
  EXPECT_GT(work, 0u) << "a server that says 'not yet' is alive";
  EXPECT_THAT(process().signals(), ElementsAre(SIGKILL));
}

TEST_F(ExternalBackendTest, APortThatSomebodyElseTookIsTriedAgainWithAnother) {
  make(R"(
recipe = "mine"
command = ["tool", "--port", "{port}"]
ready = "none"
paths = { "chat/completions" = "/chat" }
)");
  owner_ = PortOwner::another;
  spawner_.script = [this](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    if (spawner_.processes().size() == 1) {
      process->exit(1);  // the port is taken
    } else {
      owner_ = PortOwner::ours;
    }
    co_return;
  };
  load();
  pass(Millis(300));
  pass(Millis(300));
  ASSERT_TRUE(loaded_);
  ASSERT_TRUE(*loaded_) << loaded_->error().message;
  ASSERT_EQ(spawner_.processes().size(), 2u);
  EXPECT_EQ(process(0).spec().argv[0], (dir_ / "tool").native());
  stop(Millis(0));
}

TEST_F(ExternalBackendTest, NothingIsSentToAPortOfSomebodyElse) {
  make(R"(
recipe = "mine"
command = ["tool", "--port", "{port}"]
ready = { path = "/", deadline = "2s" }
paths = { "chat/completions" = "/chat" }
)");
  owner_ = PortOwner::another;
  load();
  for (int i = 0; i < 10 && !loaded_; ++i) pass(Millis(300));
  ASSERT_TRUE(loaded_);
  EXPECT_THAT(loaded_->error().message, HasSubstr("another program listens on port"));
  EXPECT_TRUE(played_.paths.empty());
}

TEST_F(ExternalBackendTest, AProgramThatIsntInstalledIsSaidBeforeAnythingElse) {
  make(R"(
recipe = "mine"
program = "nobody-has-this"
command = ["{program}", "{port}"]
paths = { "chat/completions" = "/chat" }
install = "make it yourself"
)");
  const auto refused = preflight(model());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::backend_not_installed);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("nobody-has-this"), HasSubstr("install it: make it yourself")));
  const auto wrong_type = preflight(model(ModelType::image));
  EXPECT_EQ(wrong_type.error().code, errc::invalid_option);
}

TEST_F(ExternalBackendTest, MemoryIsTheRulesUntilItWasMeasured) {
  make(kOnSocket);
  const auto options = *backend_->resolve(*model(), {});
  EXPECT_EQ(backend_->given_memory(*model(), options, Device::cpu)->total, 2100u);
  EXPECT_EQ(backend_->load_deadline(*model()), Millis(35'000));
}

TEST_F(ExternalBackendTest, OptionsOfTheOwnEngineAreNoReasonToLoadAnew) {
  make(kOnSocket);
  LoadOptions one, other;
  one.ctx_size = -1;
  other.ctx_size = 0;
  other.speculative = 3;
  other.flash_attention = "on";
  EXPECT_EQ(fingerprint(*backend_->resolve(*model(), one)), fingerprint(*backend_->resolve(*model(), other)));
  other.ctx_size = 100;
  EXPECT_NE(fingerprint(*backend_->resolve(*model(), one)), fingerprint(*backend_->resolve(*model(), other)));
}

TEST_F(ExternalBackendTest, AModelsEntryCountsOverItsRecipe) {
  KnownBackends known;
  known.descriptors.push_back(std::make_shared<const Descriptor>(*parse_descriptor(kOnSocket, "mine.toml")));
  parse_models("[models.m]\nrecipe = \"mine\"\nttl = 60\ndevice = \"npu\"\n[models.n]\nrecipe = \"mine\"\nttl = 0\n",
               "models.toml", known);
  ASSERT_EQ(known.models.size(), 2u);
  make(kOnSocket, known.models);
  EXPECT_EQ(backend_->device(*model(), {}, Device::cpu), Device::npu);
  EXPECT_EQ(backend_->configured(ModelName("m"))->evict_idle_timeout, Millis(60'000));
  EXPECT_EQ(backend_->configured(ModelName("m"))->auto_evict, true);
  EXPECT_EQ(backend_->configured(ModelName("n"))->auto_evict, false);
  EXPECT_EQ(backend_->configured(ModelName("other")), std::nullopt);
}

TEST_F(ExternalBackendTest, AServerThatShouldRunAndDoesntIsNotReachable) {
  make(R"(
recipe = "mine"
kind = "attach"
url = "http://127.0.0.1:1"
paths = { "chat/completions" = "/chat" }
)");
  EXPECT_TRUE(backend_->attached(*model()));
  EXPECT_EQ(backend_->device(*model(), {}, Device::cpu), Device::none);
  EXPECT_EQ(backend_->given_memory(*model(), {}, Device::none)->total, 0u);
  load();
  // Addresses are looked up on a thread.
  while (!loaded_) {
    loop().context().restart();
    loop().context().run_one();
  }
  EXPECT_EQ(loaded_->error().code, external::errc::not_reachable);
  EXPECT_TRUE(spawner_.processes().empty());
}

TEST_F(ExternalBackendTest, AProgramForEachRequestReadsItsTextAndItsOutputIsTheAnswer) {
  make(kSpeaks);
  server_ = backend_->create(model(ModelType::tts), {});
  wait_for(run_load());
  ASSERT_TRUE(*loaded_);
  spawner_.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    process->write("RIFF");
    process->write("data");
    process->exit(0);
    co_return;
  };
  auto answer = post("/v1/audio/speech", R"({"model":"m","input":"hello","voice":"en","speed":"-w/etc/passwd"})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->head.status, 200u);
  EXPECT_EQ(answer->head.headers.get("Content-Type"), "audio/wav");
  std::string sound;
  auto read = [](http::Response& of, std::string& into) -> async::Task<void> {
    auto text = co_await of.body.read_all(1000);
    into = text.value_or("broken");
  };
  wait_for(read(*answer, sound));
  EXPECT_EQ(sound, "RIFFdata");
  EXPECT_THAT(process().spec().argv, ElementsAre((dir_ / "tool").native(), "-v", "en", "--stdin"));
  EXPECT_TRUE(process().spec().pipes);
}

TEST_F(ExternalBackendTest, AProgramForEachRequestGetsTheFieldsThatItsDescriptorSets) {
  make(std::string(kSpeaks) + "strip = [\"speed\"]\nset = { voice = \"de\" }\n");
  server_ = backend_->create(model(ModelType::tts), {});
  wait_for(run_load());
  spawner_.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    process->write("RIFF");
    process->exit(0);
    co_return;
  };
  ASSERT_TRUE(post("/v1/audio/speech", R"({"model":"m","input":"hello","voice":"en","speed":"2"})"));
  EXPECT_THAT(process().spec().argv, ElementsAre((dir_ / "tool").native(), "-v", "de", "--stdin"));
}

TEST_F(ExternalBackendTest, AProgramThatFailsBeforeItsFirstByteIsAnError) {
  make(kSpeaks);
  server_ = backend_->create(model(ModelType::tts), {});
  wait_for(run_load());
  spawner_.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    process->print("no such voice", true);
    process->exit(1);
    co_return;
  };
  const auto answer = post("/v1/audio/speech", R"({"model":"m","input":"hello"})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->head.status, 502u);
  EXPECT_THAT(answer->body.text(), AllOf(HasSubstr("exited with code 1"), HasSubstr("no such voice")));
  EXPECT_EQ(post("/v1/audio/speech", R"({"model":"m"})")->head.status, 400u);
  EXPECT_EQ(post("/v1/chat/completions", R"({"input":"x"})")->head.status, 400u);
}

TEST_F(ExternalBackendTest, AnAnswerThatIsDroppedTakesItsProgramAlong) {
  make(kSpeaks);
  server_ = backend_->create(model(ModelType::tts), {});
  wait_for(run_load());
  spawner_.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    process->write("RIFF");
    co_return;
  };
  {
    const auto answer = post("/v1/audio/speech", R"({"model":"m","input":"hello"})");
    ASSERT_TRUE(answer);
    EXPECT_EQ(spawner_.running(), 1u);
  }
  settle();
  EXPECT_EQ(spawner_.running(), 0u);
}

}  // namespace
}  // namespace corral::backends
