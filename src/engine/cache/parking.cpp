#include "engine/cache/parking.h"

#include <utility>

namespace corral::engine {

void Parking::count(std::size_t bytes) {
  ++counters_.parked;
  counters_.parked_bytes += bytes;
}

void Parking::put(std::span<const Token> tokens, std::vector<std::uint8_t> bytes) {
  const std::size_t size = bytes.size();
  if (size > 0 && store_->put({.tokens = {tokens.begin(), tokens.end()}, .bytes = std::move(bytes)})) count(size);
}

void Parking::put_own(Session& session, std::uint32_t tokens, std::vector<std::uint8_t> bytes) {
  const std::size_t size = bytes.size();
  if (size == 0) return;
  const auto begin = session.history.begin();
  const auto kept = store_->put_own({.tokens = {begin, begin + tokens}, .bytes = std::move(bytes)}, session.parked);
  if (!kept || *kept == session.parked) return;
  session.parked = *kept;
  count(size);
}

Parking::Found Parking::find(Session& session, std::span<const Token> wanted, std::uint32_t least, bool may_read) {
  using Files = ParkedStore::Files;
  if (!store_) return {};
  const Files files = session.reads.files < kMaxReads ? Files::read : Files::awaited;
  auto found = store_->find(wanted, least + kLeast, may_read ? files : Files::ignored);
  session.reads.files += found.begun ? 1 : 0;
  if (found.coming) return {.hit = std::nullopt, .coming = true};
  if (found.hit && (found.hit->length - least) * kMaxWaste < found.hit->parked->tokens.size()) return {};
  return {.hit = std::move(found.hit)};
}

std::optional<ParkedStore::Hit> Parking::own(const Session& session) {
  if (session.parked == 0) return std::nullopt;
  return store_->own(session.parked, std::span(session.history).first(session.history.size() - 1));
}

void Parking::forget_own(Session& session) {
  if (session.parked != 0) store_->erase(std::exchange(session.parked, 0));
}

void Parking::put_back(const ParkedStore::Hit& hit) {
  ++counters_.restored;
  counters_.restored_bytes += hit.parked->bytes.size();
}

}  // namespace corral::engine
