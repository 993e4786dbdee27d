#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "cli/doctor/checks.h"
#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kGiB = 1ull << 30;

MachineFacts good_machine() {
  MachineFacts machine;
  machine.cpu_backend = "/usr/lib/corral/libggml-cpu-haswell.so";
  machine.devices = {
      {.name = "CPU", .description = "Intel", .gpu = false, .total = 0, .free = 0},
      {.name = "Vulkan0", .description = "NVIDIA RTX", .gpu = true, .total = 8 * kGiB, .free = 7 * kGiB}};
  machine.memory = {.total = 64 * kGiB, .available = 32 * kGiB};
  machine.open_files = 524'288;
  machine.user = "corral";
  machine.folders = {{.setting = "models_dir", .path = "/var/cache/corral/models", .free = 100 * kGiB},
                     {.setting = "state_dir", .path = "/var/lib/corral", .free = 100 * kGiB, .is_written = true}};
  machine.models = 2;
  machine.keys = 0;
  machine.service = {.has_manager = true, .is_installed = true, .active = "active", .status = "in memory: m"};
  return machine;
}

DoctorFacts good_facts() {
  DoctorFacts facts{.version = "0.1.0", .components = {{"llama.cpp", "0.5.0"}}, .file = "/etc/corral/config.toml"};
  facts.machine = good_machine();
  facts.url = "http://127.0.0.1:8000";
  facts.answer = ServerAnswer::full;
  facts.health.version = "0.1.0";
  facts.health.models_known = 2;
  facts.hub = "";
  return facts;
}

// "failed topic: text [todo]" of all lines that aren't right.
std::string wrong(const DoctorFacts& facts) {
  std::string text;
  for (const auto& check : check_all(facts)) {
    if (check.verdict == Verdict::ok || check.verdict == Verdict::skipped) continue;
    text += std::string(name_of(check.verdict)) + " " + check.topic + ": " + check.text;
    text += check.todo.empty() ? "\n" : " [" + check.todo + "]\n";
  }
  return text;
}

TEST(DoctorChecks, AllIsRight) {
  EXPECT_EQ(wrong(good_facts()), "");
  EXPECT_FALSE(has_failed(check_all(good_facts())));
}

TEST(DoctorChecks, VersionsAndConfiguration) {
  auto facts = good_facts();
  facts.health.version = "0.0.9";
  facts.settings_problem = "/etc/corral/config.toml:3:1: not valid TOML: x";
  EXPECT_EQ(wrong(facts),
            "warning version: corral 0.1.0, llama.cpp 0.5.0; the server is 0.0.9 [restart the server: sudo systemctl "
            "restart corral]\n"
            "failed configuration: /etc/corral/config.toml:3:1: not valid TOML: x [correct /etc/corral/config.toml]\n");
  EXPECT_TRUE(has_failed(check_all(facts)));
}

TEST(DoctorChecks, AFileOfTheServiceThatThisUserCannotRead) {
  auto facts = good_facts();
  facts.is_file_closed = true;
  facts.settings_problem = "configuration file /etc/corral/config.toml: cannot be read";
  EXPECT_EQ(wrong(facts), "");
  EXPECT_EQ(check_all(facts)[1].text, "you cannot read /etc/corral/config.toml or the keys of its server");
  EXPECT_EQ(check_all(facts)[1].todo, "sudo corral doctor examines the service");
}

TEST(DoctorChecks, TheMachine) {
  auto facts = good_facts();
  auto& machine = facts.machine;
  machine.compute_problem = "no compute backend found";
  machine.compute_remedy = "install corral again";
  machine.devices.clear();
  machine.memory.available = 512 << 20;
  machine.open_files = 1'024;
  EXPECT_EQ(wrong(facts),
            "failed cpu: no compute backend found [install corral again]\n"
            "warning memory: 512 MiB of 64 GiB available [end other programs, or raise the limit of the control "
            "group]\n"
            "warning limits: 1024 open files [raise the hard limit to 4096 or more: ulimit -Hn, LimitNOFILE= of a "
            "service]\n");
}

TEST(DoctorChecks, Devices) {
  auto facts = good_facts();
  facts.machine.devices.clear();
  EXPECT_EQ(wrong(facts), "") << "there is no GPU";
  facts.machine.driver_gpus = {"NVIDIA H100"};
  EXPECT_EQ(wrong(facts),
            "warning devices: a driver reports NVIDIA H100, but no compute backend uses it [install the package "
            "corral-cuda, or a Vulkan driver of the GPU]\n");
  facts.machine.driver_problems = {"NVIDIA: no answer within 10000 ms"};
  EXPECT_EQ(wrong(facts),
            "warning devices: NVIDIA: no answer within 10000 ms [look for errors of the driver (sudo dmesg), and "
            "restart the machine]\n");
  facts = good_facts();
  facts.machine.closed_devices = {"/dev/dri/renderD128", "/dev/kfd"};
  EXPECT_EQ(wrong(facts),
            "warning devices: user 'corral' cannot open /dev/dri/renderD128, /dev/kfd [sudo usermod -aG render,video "
            "corral, then restart the server]\n");
}

TEST(DoctorChecks, FoldersAndModels) {
  auto facts = good_facts();
  auto& folders = facts.machine.folders;
  folders[0].reason = "user 'corral' cannot enter '/home/jo' (mode 0700, owner 'jo')";
  folders[0].command = "sudo chmod o+x /home/jo";
  folders[1].free = 1 << 20;
  facts.health.models_known = 0;
  facts.health.model_problem_count = 12;
  facts.health.model_problems = {{.path = "/m/x.gguf", .message = "'/m/x.gguf' is not a GGUF file"}};
  EXPECT_EQ(wrong(facts),
            "failed models_dir: user 'corral' cannot enter '/home/jo' (mode 0700, owner 'jo') [sudo chmod o+x "
            "/home/jo]\n"
            "failed state_dir: /var/lib/corral, 1.0 MiB free: the disk is full [free some space (df -h "
            "/var/lib/corral), or set state_dir to a folder on another disk]\n"
            "warning models: 0 found, 12 refused [download one: corral run lists models that fit this machine]\n"
            "warning model: '/m/x.gguf' is not a GGUF file\n"
            "warning models: 11 more were refused [see the server's log]\n");
}

TEST(DoctorChecks, WithoutAServerTheFilesOfThisMachineAreShown) {
  auto facts = good_facts();
  facts.answer = ServerAnswer::none;
  facts.hub.reset();
  facts.health = {};
  facts.machine.refused = {{.path = "/m/y", .why = "'/m/y' is truncated"}};
  facts.machine.service.active = "inactive";
  EXPECT_EQ(wrong(facts),
            "warning port: no server responds at http://127.0.0.1:8000 [start one: sudo systemctl enable --now "
            "corral]\n"
            "warning model: '/m/y' is truncated\n"
            "warning service: corral.service is inactive [sudo systemctl enable --now corral]\n");
}

TEST(DoctorChecks, PortHubAndKeys) {
  auto facts = good_facts();
  facts.answer = ServerAnswer::foreign;
  facts.hub = "huggingface.co does not respond";
  facts.machine.keys_problem = "keys.json: not valid JSON";
  EXPECT_EQ(wrong(facts),
            "failed port: another program responds at http://127.0.0.1:8000 [end it (sudo ss -ltnp shows it), or set "
            "another port for corral]\n"
            "warning hub: huggingface.co does not respond [see docs/downloads.md for proxies and mirrors; models on "
            "disk work without it]\n"
            "failed keys: keys.json: not valid JSON [corral key list shows the keys]\n");
  facts = good_facts();
  facts.answer = ServerAnswer::silent;
  EXPECT_EQ(wrong(facts),
            "failed port: a program at http://127.0.0.1:8000 accepts connections, but does not respond [sudo ss -ltnp "
            "shows it; if it is corral, restart it: sudo systemctl restart corral]\n");
  facts.answer = ServerAnswer::needs_key;
  EXPECT_EQ(wrong(facts),
            "warning port: the server at http://127.0.0.1:8000 requires an API key [set CORRAL_API_KEY to a key with "
            "the scope admin]\n");
}

TEST(DoctorChecks, TheService) {
  auto facts = good_facts();
  auto& service = facts.machine.service;
  service = {
      .has_manager = true, .is_installed = true, .active = "failed", .result = "watchdog", .status = "port used"};
  EXPECT_EQ(wrong(facts),
            "failed service: corral.service has failed (watchdog): port used [journalctl -u corral -n 20 shows why; "
            "then sudo systemctl restart corral]\n");
  service.active = "active";
  service.restarts = 3;
  EXPECT_EQ(wrong(facts),
            "warning service: corral.service was restarted 3 times after failures: port used [journalctl -u corral "
            "shows why]\n");
  for (const ServiceState& none : {ServiceState{}, ServiceState{.has_manager = true}}) {
    service = none;
    EXPECT_EQ(wrong(facts), "");
  }
}

TEST(DoctorChecks, TheMesh) {
  auto facts = good_facts();
  facts.health.in_mesh = true;
  facts.mesh = {{.verdict = "ok", .step = "links", .node = "", .text = "2 of 2 are up"},
                {.verdict = "failed", .step = "clock", .node = "box", .text = "it is 40 s late"}};
  EXPECT_EQ(wrong(facts), "failed mesh: box: clock: it is 40 s late\n");
}

class DoctorCommandTest : public ProgramTest {
 protected:
  DoctorCommandTest() {
    hooks_.examine = [this](const config::ServeSettings* settings, const config::Environment& environment) {
      examined_ = settings == nullptr ? std::nullopt : std::optional(*settings);
      hub_cache_ = environment("HF_HUB_CACHE").value_or("");
      return good_machine();
    };
    server_.on("GET /api/v1/health", R"({"status":"ok","version":"0.1.0","models_known":2})");
    server_.on("GET /api/v1/registry/search?query=gguf&limit=1", "[]");
  }
  std::optional<config::ServeSettings> examined_;
  std::string hub_cache_;
};

TEST_F(DoctorCommandTest, PrintsOnePage) {
  EXPECT_EQ(run({"doctor"}), kExitOk);
  EXPECT_EQ(out(),
            "ok       version: corral 0.1.0, llama.cpp 0.5.0\n"
            "ok       configuration: /nonexistent/.config/corral/config.toml\n"
            "ok       cpu: libggml-cpu-haswell.so\n"
            "ok       devices: Vulkan0 (NVIDIA RTX), 7.0 GiB of 8.0 GiB free\n"
            "ok       memory: 32 GiB of 64 GiB available\n"
            "ok       limits: 524288 open files\n"
            "ok       models_dir: /var/cache/corral/models, 100 GiB free\n"
            "ok       state_dir: /var/lib/corral, 100 GiB free\n"
            "ok       port: a corral server responds at http://127.0.0.1:8000\n"
            "ok       hub: models can be downloaded\n"
            "ok       models: 2 found, 0 refused\n"
            "ok       service: corral.service is active: in memory: m\n"
            "ok       keys: none: every program on this machine may use the server\n"
            "skipped  mesh: this server is in no mesh\n");
  EXPECT_EQ(err(), "");
}

TEST_F(DoctorCommandTest, AFailureHasItsRemedyAndAnExitCode) {
  hooks_.examine = [](const config::ServeSettings*, const config::Environment&) {
    auto machine = good_machine();
    machine.folders[0].reason = "user 'corral' cannot enter '/home/jo'";
    machine.folders[0].command = "sudo chmod o+x /home/jo";
    return machine;
  };
  EXPECT_EQ(run({"doctor"}), kExitFailed);
  EXPECT_THAT(out(), HasSubstr("failed   models_dir: user 'corral' cannot enter '/home/jo'\n"
                               "         to do: sudo chmod o+x /home/jo\n"));
  EXPECT_EQ(run({"doctor", "--json"}), kExitFailed);
  EXPECT_THAT(out(), testing::StartsWith(R"({"ok":false,"checks":[{"status":"ok","topic":"version",)"
                                         R"("text":"corral 0.1.0, llama.cpp 0.5.0","todo":null})"));
  EXPECT_THAT(out(), HasSubstr(R"("todo":"sudo chmod o+x /home/jo"})"));
}

TEST_F(DoctorCommandTest, WorksWithoutAServerAndWithAWrongConfiguration) {
  server_.answers.clear();
  server_.on("GET /api/v1/health", Scripted{.error = Error{errc::no_server, "no corral server responds"}});
  variables_["CORRAL_THREADS"] = "many";
  EXPECT_EQ(run({"doctor"}), kExitFailed);
  EXPECT_FALSE(examined_);
  EXPECT_THAT(out(), HasSubstr("failed   configuration: CORRAL_THREADS: "));
  EXPECT_THAT(out(), HasSubstr("warning  port: no server responds at http://127.0.0.1:8000\n"));
  EXPECT_THAT(out(), HasSubstr("skipped  hub: only a server that downloads models can check it"));
}

TEST_F(DoctorCommandTest, AServerThatWantsAKeyIsNoFailure) {
  server_.answers.clear();
  server_.on("GET /api/v1/health", R"({"status":"ok"})");
  EXPECT_EQ(run({"doctor"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("warning  port: the server at http://127.0.0.1:8000 requires an API key\n"));
}

TEST_F(DoctorCommandTest, AServerThatHangsIsNotAwaited) {
  server_.answers.clear();
  server_.on("GET /api/v1/health", Scripted{.error = Error{errc::no_answer, "no response"}});
  EXPECT_EQ(run({"doctor"}), kExitFailed);
  EXPECT_THAT(out(), HasSubstr("failed   port: a program at http://127.0.0.1:8000 accepts connections, but does not"));
  for (const auto& request : server_.requests) EXPECT_NE(request.limit, Millis(0)) << request.path;
}

TEST_F(DoctorCommandTest, AWrongTokenOfTheHubIsNotALackOfRights) {
  const auto hub_with = [&](unsigned status, const char* body) {
    server_.answers.erase("GET /api/v1/registry/search?query=gguf&limit=1");
    server_.on("GET /api/v1/registry/search?query=gguf&limit=1", Scripted{.status = status, .body = body});
    EXPECT_EQ(run({"doctor"}), kExitOk);
    return out();
  };
  EXPECT_THAT(hub_with(403, R"({"error":{"message":"HF_TOKEN is wrong","code":"hub_token_refused"}})"),
              HasSubstr("warning  hub: HF_TOKEN is wrong\n"));
  EXPECT_THAT(hub_with(403, R"({"error":{"message":"scope admin","code":"forbidden"}})"), HasSubstr("skipped  hub: "));
  EXPECT_THAT(hub_with(404, "<html>"), HasSubstr("skipped  hub: "));
}

TEST_F(DoctorCommandTest, AServerThatLoadsItsOnlyModel) {
  server_.answers.clear();
  server_.on("GET /api/v1/health", Scripted{.status = 503, .body = R"({"error":{"message":"Loading model"}})"});
  EXPECT_EQ(run({"doctor"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("ok       port: the server at http://127.0.0.1:8000 loads its model\n"));
}

TEST_F(DoctorCommandTest, TheServiceIsExaminedIfTheUserHasNoConfiguration) {
  variables_["CORRAL_STATE_DIR"] = "/home/jo/state";
  variables_["HF_HUB_CACHE"] = "/home/jo/hub";
  surroundings_.service_file = std::filesystem::path(testing::TempDir()) / "corral-doctor-test-service.toml";
  std::ofstream(surroundings_.service_file) << "models_dir = [\"/var/cache/corral/models\"]\n";
  EXPECT_EQ(run({"doctor"}), kExitOk);
  ASSERT_TRUE(examined_);
  EXPECT_EQ(examined_->state_dir, "/var/lib/corral") << "variables of the user are not those of the service";
  EXPECT_EQ(hub_cache_, "/var/cache/corral/hub");
  EXPECT_THAT(out(), HasSubstr("configuration: " + surroundings_.service_file.native()));
  EXPECT_EQ(run({"doctor", "--config", surroundings_.service_file.native()}), kExitOk);
  EXPECT_EQ(examined_->state_dir, "/var/lib/corral") << "the file is named";
  std::filesystem::remove(surroundings_.service_file);
}

}  // namespace
}  // namespace corral::cli
