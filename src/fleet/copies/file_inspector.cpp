#include "fleet/copies/file_inspector.h"

#include <algorithm>
#include <array>
#include <csignal>

#include <fmt/format.h>

#include "base/log.h"
#include "fleet/base/errors.h"

namespace corral::fleet {

using async::Task;

namespace {

constexpr std::size_t kLongestReason = 400;

std::optional<std::string_view> behind(std::string_view line, std::string_view word) {
  if (!line.starts_with(word)) return std::nullopt;
  line.remove_prefix(word.size());
  if (line.starts_with(' ')) line.remove_prefix(1);
  return line;
}

// Whether the files' content may have caused the exit. Signals from outside, also for lack of memory, don't depend on
// the content.
bool is_of_the_files(const proc::ExitStatus& end) {
  constexpr std::array kOwnDoing = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP, SIGXCPU};
  return end == proc::ExitStatus::exited(kFilesRefused) ||
         std::ranges::any_of(kOwnDoing, [&](int signal) { return end.by_signal(signal); });
}

Task<proc::ExitStatus> end_of(proc::Child& child) { co_return co_await child.wait(); }

}  // namespace

// The child's output, and how it ended.
struct FileInspector::Report {
  std::optional<Error> not_started;
  std::optional<proc::ExitStatus> end;  // none: timeout
  bool locked = false;
  proc::Sandboxed sandbox;
  std::string reason;  // the last one

  void read_line(std::string_view line) {
    if (const auto refused = behind(line, kRefusedWord)) {
      reason = refused->substr(0, kLongestReason);
    } else if (locked) {
      return;
    } else if (behind(line, kLockedWord)) {
      locked = true;
    } else if (const auto trouble = behind(line, kTroubleWord)) {
      reason = trouble->substr(0, kLongestReason);
    } else if (const auto missing = behind(line, kMissingWord)) {
      for (const auto fence : proc::kFences)
        if (const auto why = behind(*missing, fmt::format("{}:", proc::name_of(fence))))
          sandbox.missing.push_back({fence, std::string(*why)});
    }
  }
  Error not_inspected() const {
    if (not_started) return {make_error_code(errc::not_inspected), not_started->message};
    const auto how = end ? end->describe() : fmt::format("gave no answer within {} s", kLimit.count() / 1000);
    return {make_error_code(errc::not_inspected),
            reason.empty() ? fmt::format("the process that inspects files of other nodes {}", how)
                           : fmt::format("the process that inspects files of other nodes: {}", reason)};
  }
};

Task<FileInspector::Report> FileInspector::run(std::vector<std::filesystem::path> files) {
  Report report;
  proc::ChildSpec spec{.name = "look at files", .argv = {program_.native(), "inspect-model"}, .binds_itself = true};
  for (const auto& file : files) spec.argv.push_back(file.native());
  // A thread of the allocator would prevent separate namespaces.
  spec.environment = {{"MALLOC_CONF", "background_thread:false"}};
  spec.on_line = [&report](const proc::LogLine& line) {
    if (!line.from_stderr) report.read_line(line.text);
  };
  auto child = co_await spawner_.spawn(std::move(spec));
  if (!child) {
    report.not_started = child.error();
    co_return report;
  }
  auto ending = end_of(**child);
  report.end = co_await async::with_timeout(timers_, kLimit, std::move(ending));
  // The child's on_line callback refers to the report.
  child->reset();
  co_return report;
}

Task<Result<>> FileInspector::inspect(std::vector<std::filesystem::path> files) {
  std::string names;
  for (const auto& file : files) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", file.filename().native());
  auto running = run(std::move(files));
  const auto report = co_await std::move(running);
  if (report.locked && report.end && report.end->success()) co_return Result<>();
  if (!report.locked || !report.end || !is_of_the_files(*report.end)) {
    co_return std::unexpected(report.not_inspected());
  }
  std::string why;
  if (*report.end == proc::ExitStatus::exited(kFilesRefused)) {
    why = report.reason.empty() ? fmt::format("{}: no valid model", names) : report.reason;
  } else {
    why = fmt::format("{}: the process that reads them {}", names, report.end->describe());
  }
  log::warning("mesh", "rejected the files of another node: {}", why);
  co_return fail(errc::files_refused, fmt::format("the files are rejected: {}", why));
}

Task<Result<proc::Sandboxed>> FileInspector::examine() {
  auto running = run({});
  auto report = co_await std::move(running);
  if (!report.locked) co_return std::unexpected(report.not_inspected());
  co_return std::move(report.sandbox);
}

}  // namespace corral::fleet
