// Fetches for tests, which kill this program and break its hub. Small ranges, short pauses.
//
//   downloads_test_program ENDPOINT CACHE   all files of org/repo
//   downloads_test_program NAME             the files of a name, with the variables of the environment. Prints states,
//                                           one a line, and the number and cause of a failure. CORRAL_RANGE is the size
//                                           of ranges (0: the default), CORRAL_STALL the time limit without data in ms
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "async/loop.h"
#include "base/split_mix.h"
#include "downloads/download.h"
#include "downloads/downloader.h"
#include "downloads/transfer/curl_loop.h"

namespace {

using namespace corral;
using namespace corral::downloads;

std::string variable(std::string_view name) {
  const char* const value = std::getenv(std::string(name).c_str());
  return value ? value : "";
}
std::uint64_t number(std::string_view name, std::uint64_t otherwise) {
  const std::string value = variable(name);
  return value.empty() ? otherwise : std::strtoull(value.c_str(), nullptr, 10);
}

constexpr RetryRules kRetries{.max_tries = 20, .first_pause = Millis(2), .longest_pause = Millis(2)};

DownloadOptions options() {
  DownloadOptions options;
  const std::uint64_t range = number("CORRAL_RANGE", 20'000);
  if (range == 0) return options;
  options.parts = {.smallest = range, .largest = range, .at_once = 4};
  options.retries = kRetries;
  options.save_every = Millis(2);
  options.ask_for_lock_every = Millis(5);
  options.keep_free = 0;
  options.hash_behind = 30'000;
  return options;
}

async::Task<Result<>> pull_all(DownloadTools tools) {
  auto listing = co_await tools.hub.list("org/repo", "main");
  if (!listing) co_return std::unexpected(std::move(listing.error()));
  std::vector<TreeFile> files = listing->tree;
  Download download(tools, options(), std::move(*listing), std::move(files));
  download.start();
  Result<> result = co_await download.finished();
  co_await download.stop();
  co_return result;
}

async::Task<Result<>> pull(DownloadTools tools, std::string name) {
  async::Event ended(tools.executor);
  std::optional<Error> error;
  Downloader downloader(tools, {.each = options()}, [&](const DownloadView& view) {
    std::printf("%s\n", std::string(name_of(view.state)).c_str());
    std::fflush(stdout);
    if (view.state != DownloadState::done && view.state != DownloadState::failed) return;
    error = view.error;
    ended.set();
  });
  const auto begun = downloader.begin(std::move(name));
  if (!begun) co_return std::unexpected(begun.error());
  co_await ended.wait();
  co_await downloader.stop();
  if (error) co_return std::unexpected(std::move(*error));
  co_return Result<>();
}

}  // namespace

int main(int count, char** arguments) {
  async::Loop loop;
  async::SystemTimers timers;
  async::ThreadPool disk(2);
  SplitMix random(1);
  const auto dice = [&random] { return random.next(); };
  HubSettings settings = hub_settings(variable);
  const bool all = count == 3;
  CurlOptions connections{.stall = Millis(number("CORRAL_STALL", 15'000)), .ca_file = settings.ca_file};
  if (all) settings = {.endpoint = arguments[1], .cache = arguments[2]}, connections.proxy = "";
  CurlLoop curl(loop.executor(), timers, std::move(connections));
  Hub hub(curl, timers, std::move(settings), all ? RetryRules{} : options().retries, dice);
  const DownloadTools tools{loop.executor(), timers, disk, curl, hub, dice};
  const Result<> result = async::run_blocking(loop, all ? pull_all(tools) : pull(tools, arguments[1]));
  if (result) return 0;
  std::printf("%s\n", result.error().code.message().c_str());
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  return 1;
}
