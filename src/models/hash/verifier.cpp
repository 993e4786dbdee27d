#include "models/hash/verifier.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/secret.h"
#include "base/state_file.h"
#include "models/hash/file_stamp.h"

namespace corral::models {

namespace fs = std::filesystem;

namespace {

// Without the device, as it is kept.
std::optional<FileStamp> settled_stamp(const fs::path& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  auto stamp = stamp_of(found);
  stamp.device = 0;
  return stamp;
}

FileCheck unreadable(FileCheck check, std::string cause) {
  check.verdict = Verdict::unreadable;
  check.cause = std::move(cause);
  return check;
}

std::error_code system_error_now() { return {errno, std::system_category()}; }

}  // namespace

std::optional<Sha256> promised_hash(const fs::path& path) {
  std::error_code error;
  const auto target = fs::canonical(path, error);
  if (error) return std::nullopt;
  const std::string name = target.filename().native();
  constexpr std::string_view kOllama = "sha256-";
  return parse_sha256(name.starts_with(kOllama) ? std::string_view(name).substr(kOllama.size()) : name);
}

std::string_view name_of(Verdict verdict) {
  static constexpr std::array<std::string_view, 6> kNames = {"right",      "damaged",   "changed",
                                                             "first_look", "unsettled", "unreadable"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

Verifier::Verifier(fs::path record, Hasher hasher) : record_(std::move(record)), hasher_(std::move(hasher)) {}

void Verifier::load() {
  if (std::exchange(loaded_, true)) return;
  const auto text = read_state_file(record_);
  if (!text || !*text) return;
  if (auto kept = parse_kept_hashes(**text)) {
    seen_ = std::move(*kept);
    return;
  }
  const auto aside = set_aside(record_);
  log::warning("models", "'{}' had no hashes and was moved to '{}'", record_.native(), aside.native());
}

std::optional<FileCheck> Verifier::check(const fs::path& file, const std::function<bool()>& go_on) {
  load();
  FileCheck check;
  check.path = file;
  const auto before = settled_stamp(file);
  if (!before) return unreadable(std::move(check), std::generic_category().message(errno));
  check.bytes = before->size;
  const auto hashed = hasher_(file, go_on);
  if (!hashed) return unreadable(std::move(check), hashed.error().message);
  if (!*hashed) return std::nullopt;
  check.hash = (*hashed)->hash;
  if (settled_stamp(file) != before) {
    check.verdict = Verdict::unsettled;
    return check;
  }
  const auto seen = seen_.find(file);
  const bool known = seen != seen_.end();
  const bool untouched = known && seen->second.stamp == *before;
  const auto promised = promised_hash(file);
  if (promised) {
    check.expected = promised;
  } else if (known) {
    check.expected = seen->second.hash;
  }
  if (!check.expected) {
    check.verdict = Verdict::first_look;
  } else if (check.expected != check.hash) {
    check.verdict = promised || untouched ? Verdict::damaged : Verdict::changed;
  }
  // For a damaged file, keeps the expected hash under its present stamp.
  if (check.verdict == Verdict::damaged) {
    seen_[file] = {*before, *check.expected, {}};
  } else {
    seen_[file] = {*before, *check.hash, {}};
  }
  return check;
}

Result<> Verifier::save() {
  make_room(seen_, {});
  return write_state_file(record_, to_text(seen_));
}

Result<fs::path> quarantine(const fs::path& path) {
  std::error_code error;
  const auto target = fs::canonical(path, error);
  const auto refuse = [&](std::error_code code) {
    return std::unexpected(Error(code, fmt::format("'{}' cannot be renamed: {}", path.native(), code.message())));
  };
  if (error) return refuse(error);
  constexpr int kMaxNames = 100;
  for (int number = 1; number <= kMaxNames; ++number) {
    fs::path away = target;
    away += number == 1 ? std::string(".damaged") : fmt::format(".damaged-{}", number);
    // Never over another file.
    if (::renameat2(AT_FDCWD, target.c_str(), AT_FDCWD, away.c_str(), RENAME_NOREPLACE) != 0) {
      if (errno == EEXIST) continue;
      return refuse(system_error_now());
    }
    if (fs::is_symlink(path, error)) fs::remove(path, error);
    return away;
  }
  return refuse(std::make_error_code(std::errc::file_exists));
}

std::vector<fs::path> files_of(const ModelInfo& model) {
  auto paths = model.paths;
  if (!model.mmproj.empty()) paths.push_back(model.mmproj);
  return paths;
}

}  // namespace corral::models
