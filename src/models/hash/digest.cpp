// Only the deprecated interface gives intermediate states.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "models/hash/digest.h"

#include <algorithm>

#include <openssl/sha.h>

namespace corral::models {

Digest::Digest() : state_(std::make_shared<SHA256_CTX>()) { SHA256_Init(state_.get()); }

Digest::Digest(std::span<const Sha256> steps, std::size_t step) : Digest() {
  if (step == 0) return;
  const auto& state = steps[step - 1];
  for (std::size_t i = 0; i < state.size(); i += 4) {
    state_->h[i / 4] = static_cast<std::uint32_t>(state[i]) << 24 | static_cast<std::uint32_t>(state[i + 1]) << 16 |
                       static_cast<std::uint32_t>(state[i + 2]) << 8 | state[i + 3];
  }
  const auto bits = step * kStepBytes * 8;
  state_->Nl = static_cast<std::uint32_t>(bits);
  state_->Nh = static_cast<std::uint32_t>(bits >> 32);
}

void Digest::add(std::string_view bytes) { SHA256_Update(state_.get(), bytes.data(), bytes.size()); }

Sha256 Digest::state() const {
  Sha256 state;
  for (std::size_t i = 0; i < state.size(); ++i)
    state[i] = static_cast<std::uint8_t>(state_->h[i / 4] >> (24 - 8 * (i % 4)));
  return state;
}

Sha256 Digest::finish() {
  Sha256 hash{};
  SHA256_Final(hash.data(), state_.get());
  return hash;
}

Sha256 digest_of(std::string_view bytes) {
  Digest digest;
  digest.add(bytes);
  return digest.finish();
}

void FileDigest::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto left = kStepBytes - made_.bytes % kStepBytes;
    const auto part = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left, bytes.size())));
    digest_.add(part);
    made_.bytes += part.size();
    bytes.remove_prefix(part.size());
    if (made_.bytes % kStepBytes == 0) made_.steps.push_back(digest_.state());
  }
}

FileHash FileDigest::finish() {
  made_.hash = digest_.finish();
  made_.steps.resize(static_cast<std::size_t>(steps_of(made_.bytes)));
  if (!made_.steps.empty()) made_.steps.back() = made_.hash;
  return std::move(made_);
}

}  // namespace corral::models
