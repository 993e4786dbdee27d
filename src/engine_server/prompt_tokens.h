// Prompts as tokens, no longer than the context: a text that can't fit is refused by its length alone, one that hardly
// can is counted in pieces first. Tokenising takes about 100 bytes of memory for each byte of a text, and can't be
// stopped once it runs.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/service/inference_engine.h"
#include "engine_server/preparation.h"

namespace corral::engine_server {

// One for each engine, which must outlive it. Safe on every thread; takes long, so not for loops.
class PromptTokens {
 public:
  explicit PromptTokens(const engine::InferenceEngine& service) : service_(service) {}

  // Whether a text of so many bytes may fit; true if not sure. Errors: context_length_exceeded.
  Result<> check_bytes(std::size_t bytes, const std::string& param) const;
  // With special tokens parsed and added; `most` tokens fit.
  // Errors: context_length_exceeded; tokenize_failed; remote_cancelled once `stop` is wanted.
  Result<std::vector<engine::Token>> tokenize(std::string_view text, std::size_t most, const std::string& param,
                                              const Stop& stop) const;
  const engine::InferenceEngine& service() const { return service_; }

 private:
  Result<> check_bytes(std::size_t bytes, std::size_t most, const std::string& param) const;
  std::size_t longest_token() const;

  const engine::InferenceEngine& service_;
  mutable std::once_flag measured_;
  mutable std::size_t longest_token_ = 1;
};

// What work that was told to stop answers; nobody reads it.
std::unexpected<Error> stopped();

}  // namespace corral::engine_server
