#include "engine/kv/parked_store.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

std::uint64_t memory_bytes(const Parked& parked) { return parked.bytes.size() + parked.tokens.size() * sizeof(Token); }

}  // namespace

ParkedStore::~ParkedStore() {
  const MutexLock lock(alive_->mutex);
  alive_->store = nullptr;
}

void ParkedStore::when_read(std::move_only_function<void()> call) {
  const MutexLock lock(mutex_);
  when_read_.push_back(std::move(call));
}

template <typename Call>
auto ParkedStore::guarded(Call call) NO_THREAD_SAFETY_ANALYSIS {
  const MutexLock lock(mutex_);
  try {
    return call();
  } catch (...) {
    forget_all();
    throw;
  }
}

void ParkedStore::forget_all() noexcept {
  entries_.clear();
  index_.clear();
  memory_ = 0;
}

bool ParkedStore::put(Parked parked) {
  if (parked.tokens.empty() || memory_bytes(parked) > options_.memory_bytes) return false;
  auto shared = std::make_shared<const Parked>(std::move(parked));
  Freed freed(options_.executor);
  return guarded([&]() REQUIRES(mutex_) {
    if (const auto id = admit(shared->tokens, now(), freed)) {
      if (Entry& entry = entries_.at(*id); entry.parked == nullptr) remember(entry, std::move(shared), freed);
    }
    return true;
  });
}

std::optional<ParkedStore::Id> ParkedStore::put_own(Parked parked, Id former) {
  if (parked.tokens.empty() || memory_bytes(parked) > options_.memory_bytes) return std::nullopt;
  auto shared = std::make_shared<const Parked>(std::move(parked));
  Freed freed(options_.executor);
  return guarded([&]() REQUIRES(mutex_) -> std::optional<Id> {
    if (const auto found = entries_.find(former); found != entries_.end()) {
      const auto& kept = found->second.parked->tokens;
      const bool covers = common_prefix(kept, shared->tokens) == shared->tokens.size();
      if (covers && (!options_.whole_only || kept.size() == shared->tokens.size())) return former;
      drop(former, freed);
    }
    const Id id = ++last_id_;
    Entry& entry = entries_[id];
    entry.own = true;
    remember(entry, std::move(shared), freed);
    return id;
  });
}

std::optional<ParkedStore::Hit> ParkedStore::own(Id id, std::span<const Token> wanted) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  if (found != entries_.end()) {
    const auto& parked = found->second.parked;
    const auto length = static_cast<std::uint32_t>(common_prefix(parked->tokens, wanted));
    if (length > 0 && (!options_.whole_only || length == parked->tokens.size())) {
      found->second.used = now();
      ++counts_.hits;
      return Hit{id, length, parked};
    }
  }
  ++counts_.misses;
  return std::nullopt;
}

bool ParkedStore::covers(std::span<const Token> tokens) const {
  bool found = false;
  const MutexLock lock(mutex_);
  index_.visit(tokens, static_cast<std::uint32_t>(tokens.size()), [&](const RadixIndex::Match& match) REQUIRES(mutex_) {
    found = !options_.whole_only || index_.length(match.owner) == tokens.size();
    return found;
  });
  return found;
}

ParkedStore::Found ParkedStore::find(std::span<const Token> wanted, std::uint32_t least, Files files) {
  return guarded([&]() REQUIRES(mutex_) -> Found {
    while (const auto match = choose(wanted, std::max(least, 1u), files != Files::ignored)) {
      Entry& entry = entries_.at(match->owner);
      entry.used = now();
      if (entry.parked != nullptr) {
        ++counts_.hits;
        return {.hit = Hit{match->owner, match->length, entry.parked}};
      }
      if (entry.reading) return {.hit = std::nullopt, .coming = true};
      if (entry.file_bytes > options_.memory_bytes) {
        file_gone(match->owner);
      } else if (files == Files::read && begin_reading(match->owner)) {
        return {.hit = std::nullopt, .coming = true, .begun = true};
      } else {
        files = Files::ignored;  // use only what is in memory
      }
    }
    ++counts_.misses;
    return {};
  });
}

Result<Parked> ParkedStore::read(const std::filesystem::path& file) const {
  Result<Parked> parked = read_parked(file, options_.fingerprint);
  std::error_code ignored;
  if (parked) {
    std::filesystem::last_write_time(file, Time::clock::now(), ignored);
  } else if (parked.error().code == errc::park_damaged) {
    std::filesystem::remove(file, ignored);
  }
  return parked;
}

bool ParkedStore::begin_reading(Id id) {
  if (!options_.disk) return false;
  Entry& entry = entries_.at(id);
  entry.reading = options_.disk->run([alive = alive_, id, file = entry.file] {
    const MutexLock using_it(alive->mutex);
    if (alive->store != nullptr) alive->store->read_aside(id, file);
  });
  return entry.reading;
}

// Without memory for the result, the read counts as failed: the session asks again, or computes.
void ParkedStore::read_aside(Id id, const std::filesystem::path& file) {
  try {
    take_in(id, read(file));
  } catch (...) {
    end_reading(id);
    throw;
  }
  end_reading(id);
}

void ParkedStore::end_reading(Id id) noexcept {
  const MutexLock lock(mutex_);
  if (const auto found = entries_.find(id); found != entries_.end()) found->second.reading = false;
  for (auto& call : when_read_) call();
}

// Takes the result of a read. A failed read forgets the entry.
void ParkedStore::take_in(Id id, Result<Parked> read) {
  Freed freed;
  guarded([&]() REQUIRES(mutex_) {
    const auto found = entries_.find(id);
    if (found == entries_.end() || found->second.parked != nullptr) return;
    // Another process may have stored other tokens with the same hash.
    bool same = false;
    if (read && index_.length(id) == read->tokens.size()) {
      index_.visit(read->tokens, static_cast<std::uint32_t>(read->tokens.size()),
                   [&](const RadixIndex::Match& match) { return same = match.owner == id; });
    }
    if (!same || memory_bytes(*read) > options_.memory_bytes) return file_gone(id);
    ++counts_.loads;
    remember(found->second, std::make_shared<const Parked>(std::move(*read)), freed);
  });
}

void ParkedStore::erase(Id id) {
  Freed freed(options_.executor);
  guarded([&]() REQUIRES(mutex_) {
    if (entries_.contains(id)) drop(id, freed);
  });
}

ParkedStats ParkedStore::stats() const {
  const MutexLock lock(mutex_);
  ParkedStats stats = counts_;
  stats.entries = entries_.size();
  for (const auto& [id, entry] : entries_) {
    stats.on_disk_only += entry.parked == nullptr ? 1 : 0;
    stats.disk_bytes += entry.file.empty() ? 0 : entry.file_bytes;
  }
  stats.memory_bytes = memory_;
  stats.memory_limit = options_.memory_bytes;
  return stats;
}

std::optional<RadixIndex::Match> ParkedStore::choose(std::span<const Token> wanted, std::uint32_t least,
                                                     bool in_files) const {
  std::optional<RadixIndex::Match> chosen;
  // Among equal matches prefers entries in memory, then short ones, since a restore copies all bytes.
  std::tuple<bool, std::uint32_t> cost;
  index_.visit(wanted, least, [&](const RadixIndex::Match& match) REQUIRES(mutex_) {
    if (chosen && match.length < chosen->length) return true;
    const std::uint32_t length = *index_.length(match.owner);
    const bool in_memory = entries_.at(match.owner).parked != nullptr;
    if ((options_.whole_only && length != match.length) || (!in_memory && !in_files)) return false;
    const std::tuple this_cost(!in_memory, length);
    if (!chosen || this_cost < cost) {
      chosen = match;
      cost = this_cost;
    }
    return false;
  });
  return chosen;
}

std::optional<ParkedStore::Id> ParkedStore::admit(std::span<const Token> tokens, Time used, Freed& freed) {
  std::optional<Id> same, longer;
  std::vector<Id> beginnings;
  index_.visit(tokens, 1, [&](const RadixIndex::Match& match) REQUIRES(mutex_) {
    const std::uint32_t length = *index_.length(match.owner);
    if (match.length == tokens.size() && length == tokens.size()) {
      same = match.owner;
      return true;
    }
    if (options_.whole_only) return match.length < tokens.size();
    if (match.length == tokens.size()) longer = match.owner;
    if (match.length == length) beginnings.push_back(match.owner);
    return false;
  });
  if (const auto known = same ? same : longer) {
    Entry& entry = entries_.at(*known);
    entry.used = std::max(entry.used, used);
    return same;
  }
  for (const Id id : beginnings) drop(id, freed);
  const Id id = ++last_id_;
  index_.set(id, tokens);
  entries_[id].used = used;
  return id;
}

void ParkedStore::remember(Entry& entry, std::shared_ptr<const Parked> parked, Freed& freed) {
  memory_ += memory_bytes(*parked);
  entry.parked = std::move(parked);
  entry.used = now();  // so that it is not evicted itself
  while (memory_ > options_.memory_bytes) {
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->second.parked != nullptr && (oldest == entries_.end() || it->second.used < oldest->second.used))
        oldest = it;
    }
    ++counts_.evictions;
    if (oldest->second.file.empty()) {
      drop(oldest->first, freed);
    } else {
      release(oldest->second, freed);
    }
  }
}

void ParkedStore::release(Entry& entry, Freed& freed) {
  if (entry.parked == nullptr) return;
  memory_ -= memory_bytes(*entry.parked);
  freed.parked.push_back(std::move(entry.parked));
}

void ParkedStore::drop(Id id, Freed& freed) {
  const auto found = entries_.find(id);
  release(found->second, freed);
  if (!found->second.file.empty()) stale_.push_back(std::move(found->second.file));
  index_.erase(id);
  entries_.erase(found);
}

void ParkedStore::file_gone(Id id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  found->second.file.clear();
  Freed none;
  if (found->second.parked == nullptr) drop(id, none);
}

// Strictly increasing: there is always exactly one least recently used entry.
ParkedStore::Time ParkedStore::now() {
  last_used_ = std::max(Time::clock::now(), last_used_ + Time::duration(1));
  return last_used_;
}

}  // namespace corral::engine
