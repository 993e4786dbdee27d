// The part of ParkedStore that keeps its folder.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/kv/parked_store.h"
#include "engine/values/errors.h"

namespace corral::engine {

namespace fs = std::filesystem;

namespace {

// Conversations are private, and files of other users must not get into an answer. So the folder must belong to this
// user, and only this user may write into it. A missing folder will be created so.
Result<> check_folder(const fs::path& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) return {};
  const char* wrong = nullptr;
  if (!S_ISDIR(status.st_mode))
    wrong = "isn't a folder";
  else if (status.st_uid != ::geteuid())
    wrong = "belongs to another user";
  else if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    wrong = "may be written by other users";
  if (wrong == nullptr) return {};
  return fail(errc::park_failed, fmt::format("'{}' can't hold parked KV: it {}", folder.native(), wrong));
}

}  // namespace

Result<> ParkedStore::open() {
  if (options_.folder.empty()) return {};
  if (Result<> checked = check_folder(options_.folder); !checked) return checked;
  Result<std::vector<ParkedFile>> files = list_parked(options_.folder);
  if (!files) return std::unexpected(std::move(files.error()));
  const std::string prefix = parked_name_prefix(options_.fingerprint);
  for (ParkedFile& file : *files) {
    if (!file.path.filename().native().starts_with(prefix)) continue;
    const Result<std::vector<Token>> tokens = read_parked_tokens(file.path, options_.fingerprint);
    if (!tokens) {
      std::error_code ignored;
      if (tokens.error().code == errc::park_damaged) fs::remove(file.path, ignored);
      continue;
    }
    Freed freed;
    const MutexLock lock(mutex_);
    const auto id = admit(*tokens, file.used, freed);
    if (!id) {
      stale_.push_back(std::move(file.path));
    } else if (Entry& entry = entries_.at(*id); entry.file.empty()) {
      set_file(entry, std::move(file.path), file.bytes);
    }
  }
  return {};
}

Result<ParkedStore::Saved> ParkedStore::save() {
  Saved saved;
  if (options_.folder.empty()) return saved;
  const MutexLock saving(saving_);
  std::error_code error;
  if (fs::create_directories(options_.folder, error)) {
    // Conversations are private.
    fs::permissions(options_.folder, fs::perms::owner_all, error);
  }
  if (error) {
    return fail(errc::park_failed, fmt::format("the folder for parked KV '{}' can't be made: {}",
                                               options_.folder.native(), error.message()));
  }
  if (Result<> checked = check_folder(options_.folder); !checked) return std::unexpected(std::move(checked.error()));
  Result<std::vector<Candidate>> all = candidates(saved);
  if (!all) return std::unexpected(std::move(all.error()));

  std::ranges::sort(*all, std::greater<>{}, &Candidate::used);
  std::vector<Candidate> to_write;
  std::uint64_t left = options_.folder_bytes;
  for (Candidate& candidate : *all) {
    if (candidate.bytes <= left) {
      left -= candidate.bytes;
      if (candidate.parked != nullptr) to_write.push_back(std::move(candidate));
    } else if (candidate.parked == nullptr) {
      if (fs::remove(candidate.file, error)) ++saved.removed;
      const MutexLock lock(mutex_);
      file_gone(candidate.id);
    }
  }
  for (const Candidate& candidate : to_write) {
    if (Result<> written = write(candidate); !written) return std::unexpected(std::move(written.error()));
    ++saved.written;
  }
  return saved;
}

std::uint64_t ParkedStore::let_go_of_saved() {
  Freed freed;
  const MutexLock lock(mutex_);
  const std::uint64_t before = memory_;
  for (auto& [id, entry] : entries_) {
    if (!entry.file.empty()) release(entry, freed);
  }
  return before - memory_;
}

Result<std::vector<ParkedStore::Candidate>> ParkedStore::candidates(Saved& saved) {
  std::vector<fs::path> stale;
  {
    const MutexLock lock(mutex_);
    stale.swap(stale_);
  }
  std::error_code ignored;
  for (const fs::path& file : stale) saved.removed += fs::remove(file, ignored) ? 1 : 0;

  Result<std::vector<ParkedFile>> files = list_parked(options_.folder);
  if (!files) return std::unexpected(std::move(files.error()));
  std::vector<Candidate> all;
  {
    const MutexLock lock(mutex_);
    std::map<fs::path, Id> known;
    for (const auto& [id, entry] : entries_) {
      if (!entry.file.empty()) known.emplace(entry.file, id);
    }
    for (ParkedFile& file : *files) {
      Candidate candidate{file.bytes, file.used, 0, std::move(file.path), nullptr};
      if (const auto found = known.find(candidate.file); found != known.end()) {
        candidate.id = found->second;
        candidate.used = std::max(candidate.used, entries_.at(candidate.id).used);
        known.erase(found);
      }
      all.push_back(std::move(candidate));
    }
    // Another process has removed the rest.
    for (const auto& [file, id] : known) file_gone(id);
    for (const auto& [id, entry] : entries_) {
      if (entry.own || !entry.file.empty()) continue;
      all.push_back({parked_file_bytes(options_.fingerprint, *entry.parked), entry.used, id, {}, entry.parked});
    }
  }
  for (const Candidate& candidate : all) {
    if (candidate.parked == nullptr && candidate.id != 0) fs::last_write_time(candidate.file, candidate.used, ignored);
  }
  return all;
}

Result<> ParkedStore::write(const Candidate& candidate) {
  const fs::path file = options_.folder / parked_name(options_.fingerprint, candidate.parked->tokens);
  if (Result<> written = write_parked(file, options_.fingerprint, *candidate.parked); !written) return written;
  std::error_code ignored;
  fs::last_write_time(file, candidate.used, ignored);
  const MutexLock lock(mutex_);
  if (const auto found = entries_.find(candidate.id); found != entries_.end()) {
    set_file(found->second, file, candidate.bytes);
  } else {
    stale_.push_back(file);  // replaced meanwhile
  }
  return {};
}

void ParkedStore::set_file(Entry& entry, fs::path file, std::uint64_t bytes) {
  // An entry with the same tokens may just have been replaced: its file now belongs to this entry.
  std::erase(stale_, file);
  entry.file = std::move(file);
  entry.file_bytes = bytes;
}

}  // namespace corral::engine
