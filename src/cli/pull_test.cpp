#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"
#include "cli/known_for_tests.h"
#include "cli/terminal/file_bars.h"

namespace corral::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kPull = "POST /api/v1/pull";
constexpr const char* kPlan =
    R"({"model_name":"org/repo:Q4_K_M","licence":"apache-2.0","files":[{"path":"x-Q4_K_M.gguf","size":2147483648,)"
    R"("here":false}],"bytes_total":2147483648,"bytes_to_fetch":2147483648,)"
    R"("disk":{"path":"/hub","free_bytes":10737418240,"fits":true},)"
    R"("memory":{"bytes":3221225472,"have_bytes":8589934592,"fits":true,"by":"size"}})";
std::string progress(std::uint64_t done, std::uint64_t total = 2147483648) {
  return fmt::format(R"({{"model_name":"org/repo:Q4_K_M","status":"downloading","overall_bytes_downloaded":{0},)"
                     R"("total_download_size":{1},"bytes_per_second":1048576,"seconds_left":100,)"
                     R"("files":[{{"path":"x-Q4_K_M.gguf","size":{1},"done":{0},"whole":{2}}}]}})",
                     done, total, done == total);
}
const std::string kHalf = progress(1073741824);
const std::string kWhole = progress(2147483648);

class PullCommandTest : public ProgramTest {
 protected:
  PullCommandTest() { variables_["XDG_CONFIG_HOME"] = known_.home(); }
  void stream(std::vector<Event> events) { server_.on(kPull, Scripted{.events = std::move(events)}); }

  // A million parameters fit everywhere.
  const KnownForTests known_{KnownForTests::row("small", "org/small", "Q8_0", "0.001") +
                             KnownForTests::row("huge", "org/huge", "Q4_K_M", "9000", "coding")};
};

TEST_F(PullCommandTest, it_says_what_it_takes_and_shows_a_bar_for_each_file) {
  stream({{"plan", kPlan}, {"progress", kHalf}, {"progress", kWhole}, {"complete", kWhole}});
  EXPECT_EQ(run({"pull", "org/repo:Q4_K_M"}), kExitOk);
  EXPECT_THAT(server_.bodies(kPull), ElementsAre(R"({"model_name":"org/repo:Q4_K_M","stream":true})"));
  EXPECT_THAT(err(), HasSubstr("org/repo:Q4_K_M: 1 file, 2.0 GiB on disk; about 3.0 GiB of memory when it is loaded; "
                               "licence: apache-2.0\n"));
  EXPECT_THAT(err(), HasSubstr("x-Q4_K_M.gguf  [==========          ]  50 %  1.0 GiB of 2.0 GiB\n"));
  EXPECT_THAT(err(), HasSubstr("\x1b[1A\x1b[J"));
  EXPECT_EQ(out(), "org/repo:Q4_K_M is downloaded (2.0 GiB in 0 ms)\n");
}

TEST_F(PullCommandTest, without_a_terminal_there_are_lines) {
  pipe_everything();
  stream({{"plan", kPlan},
          {"progress", progress(0)},
          {"progress", progress(100)},
          {"progress", kHalf},
          {"progress", kHalf},
          {"complete", kWhole}});
  EXPECT_EQ(run({"pull", "org/repo:Q4_K_M"}), kExitOk);
  EXPECT_THAT(err(), AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\r"))));
  EXPECT_THAT(err(), HasSubstr("  0 %  0 B of 2.0 GiB, 1.0 MiB/s, 100 s left\n"
                               " 50 %  1.0 GiB of 2.0 GiB, 1.0 MiB/s, 100 s left\n"));
}

TEST_F(PullCommandTest, ctrl_c_pauses_and_says_how_to_go_on) {
  server_.on(kPull, Scripted{.events = {{"plan", kPlan}, {"progress", kHalf}},
                             .error = Error{errc::interrupted, "interrupted"}});
  EXPECT_EQ(run({"pull", "org/repo"}), kExitInterrupted);
  EXPECT_THAT(err(), HasSubstr("\npaused: 1.0 GiB of 2.0 GiB downloaded; resume with: corral pull org/repo\n"));
  EXPECT_EQ(out(), "");
  EXPECT_EQ(run({"pull", "org/repo:a file.gguf"}), kExitInterrupted);
  EXPECT_THAT(err(), HasSubstr("resume with: corral pull 'org/repo:a file.gguf'\n"));
}

TEST_F(PullCommandTest, a_server_that_breaks_off_is_told_with_the_way_on) {
  server_.on(kPull, Scripted{.events = {{"plan", kPlan}, {"progress", kHalf}},
                             .error = Error{errc::bad_answer, "the response was cut off"}});
  EXPECT_EQ(run({"pull", "org/repo"}), kExitFailed);
  EXPECT_THAT(err(),
              HasSubstr("the response was cut off; 1.0 GiB of 2.0 GiB downloaded; resume with: corral pull org/repo"));
  server_.answers.clear();
  stream({{"plan", kPlan}, {"progress", kHalf}});
  EXPECT_EQ(run({"pull", "org/repo"}), kExitFailed);
  EXPECT_THAT(err(),
              HasSubstr("closed the connection before the download was complete; 1.0 GiB of 2.0 GiB downloaded"));
}

TEST_F(PullCommandTest, failures_and_refusals_are_told) {
  stream({{"plan", kPlan}, {"error", R"({"error":"the disk is full","code":"disk_full"})"}});
  EXPECT_EQ(run({"pull", "org/repo"}), kExitFailed);
  EXPECT_EQ(err().substr(err().find("corral: ")), "corral: the disk is full\n");
  server_.answers.clear();
  server_.on(kPull, Scripted{.status = 403, .body = R"({"error":{"message":"accept its conditions first"}})"});
  EXPECT_EQ(run({"pull", "org/repo"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("accept its conditions first"));
}

TEST_F(PullCommandTest, going_on_is_only_advised_when_a_part_is_here_and_of_use) {
  const auto printed = [this](const std::string& last, const std::string& code) {
    server_.answers.clear();
    stream({{"plan", kPlan}, {"progress", last}, {"error", R"({"error":"it failed","code":")" + code + R"("})"}});
    EXPECT_EQ(run({"pull", "org/repo:Q4_K_M"}), kExitFailed);
    return err();
  };
  EXPECT_THAT(printed(kHalf, "hub_unreachable"), HasSubstr("it failed; 1.0 GiB of 2.0 GiB downloaded; resume with"));
  EXPECT_THAT(printed(kHalf, "wrong_content"), HasSubstr("corral: it failed\n"));
  EXPECT_THAT(printed(progress(0), "hub_unreachable"), HasSubstr("corral: it failed\n"));
  EXPECT_THAT(printed(kWhole, "model_malformed"), HasSubstr("corral: it failed\n"));
}

TEST_F(PullCommandTest, what_is_too_large_is_said_before) {
  stream(
      {{"plan",
        R"({"model_name":"m","files":[{"path":"a","size":1048576}],"bytes_total":1048576,)"
        R"("bytes_to_fetch":524288,"disk":{"path":"/hub","needed_bytes":524288,"keep_free_bytes":67108864,)"
        R"("free_bytes":1024,"fits":false},"memory":{"bytes":2147483648,"have_bytes":1073741824,"fits":false,"by":"header"}})"},
       {"complete", R"({"model_name":"m"})"}});
  EXPECT_EQ(run({"pull", "org/repo"}), kExitOk);
  EXPECT_THAT(err(),
              HasSubstr("m: 1 file, 1.0 MiB on disk, 512 KiB to download; 2.0 GiB of memory when it is "
                        "loaded\nwarning: not enough disk space: 512 KiB to download and 64 MiB to keep free, but "
                        "/hub has 1.0 KiB free\nwarning: this machine has 1.0 GiB"));
}

TEST_F(PullCommandTest, of_several_quantisations_the_largest_that_fits_is_offered) {
  server_.on(
      "GET /api/v1/pull/variants?checkpoint=org/repo",
      R"({"checkpoint":"org/repo","suggested":"Q8_0","usual":"Q4_K_M","variants":[)"
      R"({"name":"Q4_K_M","size_bytes":1048576,"fits":true},{"name":"Q8_0","size_bytes":2097152,"fits":true}]})");
  stream({{"plan", kPlan}, {"complete", kWhole}});
  EXPECT_EQ(run({"pull", "org/repo"}), kExitOk);
  EXPECT_THAT(err(), HasSubstr("Q4_K_M is selected; a larger variant fits this machine: Q8_0 (2.0 MiB), with: "
                               "corral pull org/repo:Q8_0\n"));
}

TEST_F(PullCommandTest, a_known_name_is_what_it_stands_for_and_stays_its_name) {
  server_.on("POST /internal/aliases", R"({"status":"ok"})");
  stream({{"plan", kPlan}, {"complete", R"({"model_name":"org/small:Q8_0","total_download_size":1048576})"}});
  EXPECT_EQ(run({"pull", "small"}), kExitOk);
  EXPECT_THAT(server_.bodies(kPull), ElementsAre(R"({"model_name":"org/small:Q8_0","stream":true})"));
  EXPECT_THAT(server_.bodies("POST /internal/aliases"), ElementsAre(R"({"alias":"small","target":"org/small:Q8_0"})"));
  EXPECT_EQ(out(), "org/small:Q8_0 is downloaded (1.0 MiB in 0 ms)\n");
  // A server that finds it by that name needs no alias.
  server_.on("GET /api/v1/models/small", R"({"id":"org/small:Q8_0"})");
  EXPECT_EQ(run({"pull", "small"}), kExitOk);
  EXPECT_THAT(server_.bodies("POST /internal/aliases"), testing::SizeIs(1));
}

TEST_F(PullCommandTest, offline_a_model_that_is_here_has_no_size_and_no_time) {
  stream({{"complete", R"({"status":"ok","model_name":"org/repo:Q8_0"})"}});
  EXPECT_EQ(run({"pull", "org/repo:Q8_0"}), kExitOk);
  EXPECT_EQ(out(), "org/repo:Q8_0 is already downloaded\n");
}

TEST_F(PullCommandTest, a_model_may_get_a_name_of_its_own) {
  stream({{"plan", kPlan}, {"complete", R"({"model_name":"mine"})"}});
  EXPECT_EQ(run({"pull", "org/repo:Q8_0", "--as", "mine"}), kExitOk);
  EXPECT_THAT(server_.bodies(kPull),
              ElementsAre(R"({"model_name":"mine","checkpoint":"org/repo:Q8_0","stream":true})"));
}

TEST_F(PullCommandTest, detached_it_goes_on_by_itself) {
  server_.on(kPull, kPlan);
  server_.on(kPull, R"({"id":"model:org/repo:Q4_K_M","status":"queued"})");
  EXPECT_EQ(run({"pull", "org/repo:Q4_K_M", "--detach"}), kExitOk);
  EXPECT_THAT(server_.bodies(kPull), ElementsAre(R"({"model_name":"org/repo:Q4_K_M","dry_run":true})",
                                                 R"({"model_name":"org/repo:Q4_K_M","subscribe":false})"));
  EXPECT_EQ(out(), "the download of org/repo:Q4_K_M runs in the background; see: corral downloads\n");
}

TEST_F(PullCommandTest, a_dry_run_lists_the_files) {
  server_.on(kPull, kPlan);
  EXPECT_EQ(run({"pull", "org/repo:Q4_K_M", "--dry-run"}), kExitOk);
  EXPECT_THAT(server_.bodies(kPull), ElementsAre(R"({"model_name":"org/repo:Q4_K_M","dry_run":true})"));
  EXPECT_THAT(out(), HasSubstr("   2.0 GiB  x-Q4_K_M.gguf\n"));
}

TEST_F(PullCommandTest, json_is_what_the_server_says) {
  server_.on(kPull, R"({"status":"success"})");
  EXPECT_EQ(run({"pull", "org/repo", "--json"}), kExitOk);
  EXPECT_EQ(out(), "{\"status\":\"success\"}\n");
  EXPECT_THAT(server_.bodies(kPull), ElementsAre(R"({"model_name":"org/repo"})"));
}

// Names of files come from strangers.
TEST_F(PullCommandTest, a_file_cannot_drive_the_terminal) {
  stream({{"progress", R"({"total_download_size":10,"overall_bytes_downloaded":5,"files":[)"
                       R"({"path":"a\u001b[31mb.gguf","size":10,"done":5}]})"},
          {"complete", R"({"model_name":"m"})"}});
  EXPECT_EQ(run({"pull", "org/repo:x"}), kExitOk);
  EXPECT_THAT(err(), HasSubstr("a[31mb.gguf  [====="));
}

std::vector<std::string> drawn(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_F(PullCommandTest, rate_and_time_left_are_visible_on_a_narrow_terminal) {
  const auto shown = [&](const std::string& path, std::size_t width) {
    std::ostringstream out;
    const Terminal terminal{.out = out, .err = out, .err_tty = true, .width = width};
    HandClock clock;
    FileBars bars(terminal, clock);
    DownloadProgress download{.files = {{.path = path, .size = 24u << 20}}};
    download.total = 24u << 20;
    bars.show(download);
    clock.time += Millis(1'000);
    download.done = download.files[0].done = 12u << 20;
    bars.show(download);
    return drawn(out.str()).back();
  };
  EXPECT_THAT(shown("big-Q4_K_M.gguf", 120), HasSubstr("[==========          ]  50 %"));
  const auto at_80 = shown("big-Q4_K_M.gguf", 80);
  EXPECT_THAT(at_80, AllOf(HasSubstr("big-Q4_K_M.gguf"), HasSubstr("12 MiB/s, 1.0 s left"))) << at_80;
  const auto long_name = shown("sub/a-very-long-name-of-a-model-file-Q4_K_M.gguf", 62);
  EXPECT_THAT(long_name, AllOf(HasSubstr("Q4_K_M.gguf"), HasSubstr("12 MiB/s, 1.0 s left"), Not(HasSubstr("[="))));
}

class RunWithoutModelTest : public PullCommandTest {
 protected:
  RunWithoutModelTest() {
    server_.on("GET /api/v1/health", "{}");
    server_.on("POST /api/v1/load", Scripted{.events = {{"complete", "{}"}}});
    server_.on("POST /internal/aliases", "{}");
    answer_chat({"hello"});
    server_.on(kPull, Scripted{.body = kPlan});  // of the dry run
    server_.on(kPull, Scripted{.events = {{"progress", kHalf}, {"complete", kWhole}}});
  }
};

TEST_F(RunWithoutModelTest, one_that_is_not_here_is_fetched_after_asking) {
  input_.type("y");
  EXPECT_EQ(run({"run", "org/repo", "hi"}), kExitOk);
  EXPECT_THAT(err(), HasSubstr("2.0 GiB on disk"));
  EXPECT_THAT(err(), HasSubstr("It is not downloaded. Download 2.0 GiB? [Y/n] "));
  EXPECT_EQ(out(), "hello\n");
  // It is loaded by the name that it has now.
  EXPECT_THAT(server_.bodies("POST /api/v1/load"), ElementsAre(HasSubstr(R"("model_name":"org/repo:Q4_K_M")")));
}

TEST_F(RunWithoutModelTest, a_known_model_that_is_here_by_its_full_name_needs_no_hub) {
  server_.on("GET /api/v1/models/org/small%3AQ8_0", R"({"id":"org/small:Q8_0"})");
  server_.answers.erase(kPull);
  EXPECT_EQ(run({"run", "small", "hi"}), kExitOk) << err();
  EXPECT_THAT(server_.bodies("POST /api/v1/load"), ElementsAre(HasSubstr(R"("model_name":"org/small:Q8_0")")));
  EXPECT_THAT(server_.bodies(kPull), IsEmpty());
}

TEST_F(RunWithoutModelTest, a_wrong_name_gets_close_ones_and_the_search) {
  server_.answers.erase("POST /api/v1/load");
  server_.on("POST /api/v1/load", Scripted{.status = 404, .body = R"({"error":{"message":"no model 'smal'"}})"});
  EXPECT_EQ(run({"run", "smal", "hi"}), kExitFailed);
  EXPECT_THAT(err(),
              HasSubstr("corral: no model 'smal'. Known models with similar names: 'small'. Search for others with: "
                        "corral search smal\n"));
}

TEST_F(RunWithoutModelTest, who_says_no_gets_nothing) {
  input_.type("n");
  EXPECT_EQ(run({"run", "org/repo", "hi"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("'org/repo' is not downloaded"));
  EXPECT_THAT(server_.bodies("POST /api/v1/load"), IsEmpty());
  server_.answers[kPull].push_front(Scripted{.body = kPlan});
  input_.press_ctrl_c();
  EXPECT_EQ(run({"run", "org/repo", "hi"}), kExitInterrupted);
}

TEST_F(RunWithoutModelTest, yes_asks_nobody) {
  pipe_everything();
  EXPECT_EQ(run({"run", "org/repo", "hi", "--yes"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("hello"));
}

TEST_F(RunWithoutModelTest, without_a_terminal_nothing_is_fetched_unless_told_so) {
  pipe_everything();
  EXPECT_EQ(run({"run", "org/repo", "hi"}), kExitUsage);
  EXPECT_THAT(
      err(),
      HasSubstr(
          "'org/repo' is not downloaded, and there is no terminal for a question: use corral pull org/repo, or --yes"));
  EXPECT_THAT(server_.bodies(kPull), ElementsAre(HasSubstr("dry_run")));
}

TEST_F(RunWithoutModelTest, without_a_name_those_that_fit_are_offered) {
  server_.on("GET /api/v1/pull/variants?checkpoint=org/small",
             R"({"variants":[{"name":"Q8_0","size_bytes":1048576,"memory_bytes":2097152}]})");
  input_.type("7");
  input_.type("1");
  EXPECT_EQ(run({"run"}), kExitOk);
  EXPECT_THAT(err(), HasSubstr("  1  small: 1.0 MiB on disk, 2.0 MiB of memory; chat; licence: mit\n"));
  EXPECT_THAT(err(), HasSubstr("Number of the model [1-1, Enter to leave] Number of the model"));
  EXPECT_THAT(server_.bodies(kPull), ElementsAre(HasSubstr("org/small:Q8_0"), HasSubstr("org/small:Q8_0")));
}

TEST_F(RunWithoutModelTest, without_a_hub_sizes_are_guesses_and_without_a_terminal_commands_are_named) {
  input_.type("");
  EXPECT_EQ(run({"run"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("small: about 1.0 MiB on disk, about 257 MiB of memory; chat; licence: mit\n"));
  pipe_everything();
  EXPECT_EQ(run({"run"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("\n  corral run --yes small\n"));
}

TEST(RateTest, it_is_that_of_the_last_seconds) {
  Rate rate;
  const auto at = [](int ms) { return MonoTime(Millis(ms)); };
  rate.add(at(0), 0);
  EXPECT_FALSE(rate.per_second());
  rate.add(at(400), 400);
  EXPECT_FALSE(rate.per_second());
  rate.add(at(1'000), 1'000);
  EXPECT_DOUBLE_EQ(*rate.per_second(), 1'000);
  for (int second = 2; second <= 10; ++second) rate.add(at(second * 1'000), 1'000 + (second - 1) * 100);
  EXPECT_DOUBLE_EQ(*rate.per_second(), 100);
  rate.add(at(11'000), 0);  // it was fetched once more
  EXPECT_FALSE(rate.per_second());
}

TEST(PaceTest, as_much_as_is_known) {
  EXPECT_EQ(pace_text({}, {}), "");
  EXPECT_EQ(pace_text(1048576.0, {}), "1.0 MiB/s");
  EXPECT_EQ(pace_text(1048576.0, 0.2), "1.0 MiB/s, 1.0 s left");
  EXPECT_EQ(pace_text(1048576.0, 1e12), "1.0 MiB/s");
}

DownloadProgress many_files(int count) {
  DownloadProgress download{.done = 5, .total = 10};
  for (int i = 1; i <= count; ++i) {
    download.files.push_back({.path = fmt::format("model-{:05}-of-{:05}.gguf", i, count),
                              .size = 1024,
                              .done = i <= 12 ? std::uint64_t{1024} : std::uint64_t{512},
                              .whole = i <= 10,
                              .waiting = i == 11});
  }
  return download;
}

TEST(FileBarsTest, of_many_files_only_a_few_have_bars) {
  std::ostringstream out, err;
  Terminal terminal{out, err};
  terminal.err_tty = true;
  terminal.width = 120;
  const HandClock clock;
  FileBars bars(terminal, clock);
  bars.show(many_files(30));
  EXPECT_EQ(std::ranges::count(err.str(), '\n'), 7);
  EXPECT_THAT(err.str(), HasSubstr("another program downloads it"));
  EXPECT_THAT(err.str(), HasSubstr("all 30 files"));
  EXPECT_THAT(err.str(), HasSubstr("10 whole, 14 to come\n"));
  const auto before = err.str().size();
  bars.show(many_files(30));  // nothing has changed
  EXPECT_EQ(err.str().size(), before);
  bars.clear();
  EXPECT_THAT(err.str(), testing::EndsWith("\r\x1b[7A\x1b[J"));
}

}  // namespace
}  // namespace corral::cli
