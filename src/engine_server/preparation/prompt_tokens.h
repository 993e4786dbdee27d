// Tokenizes prompts up to the context length. A text that can't fit is refused by its length alone; one that hardly
// fits is first counted in pieces. Tokenizing takes about 100 bytes of memory per byte of text, and can't be stopped.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/service/inference_engine.h"
#include "engine_server/preparation/preparation.h"
#include "protocol/requests.h"

namespace corral::engine_server {

// One for each engine, which must outlive it. Safe on every thread; takes long, so not for loops.
class PromptTokens {
 public:
  explicit PromptTokens(const engine::InferenceEngine& service) : service_(service) {}

  // Whether a text of so many bytes may fit; true if not sure. Errors: context_length_exceeded.
  Result<> check_bytes(std::size_t bytes, const std::string& param) const;
  // With special tokens parsed and added; `max` tokens fit.
  // Errors: context_length_exceeded; those of Model::tokenize; remote_cancelled once `stop` is wanted.
  Result<std::vector<engine::Token>> tokenize(std::string_view text, std::size_t max, const std::string& param,
                                              const CancelToken& stop) const {
    return tokenize(text, Reading{.max = max}, param, stop);
  }
  struct Reading {
    std::size_t max = 0;  // tokens that fit; 0: any number, of texts that were found short enough
    bool add_special = true;
    bool parse_special = true;
  };
  // As that with max > 0, else without a limit.
  Result<std::vector<engine::Token>> tokenize(std::string_view text, const Reading& reading, const std::string& param,
                                              const CancelToken& stop) const;
  // Reads an input: tokens, which are checked, and texts, of which the first may get special tokens if nothing precedes
  // it. Errors: as tokenize; bad_value (a token that is not in the vocabulary).
  Result<std::vector<engine::Token>> read(const protocol::Input& input, const Reading& reading,
                                          const std::string& param, const CancelToken& stop) const;
  // The first `max` tokens of an input; a special token at the end stays. Errors: as read, except
  // context_length_exceeded.
  Result<std::vector<engine::Token>> read_cut(const protocol::Input& input, std::size_t max, const std::string& param,
                                              const CancelToken& stop) const;
  // Number of tokens, even above the context. Texts above 128 KiB are counted in pieces, which may add a few. Errors:
  // those of Model::tokenize; remote_cancelled once `stop` is wanted.
  Result<std::size_t> count(std::string_view text, const std::string& param, const CancelToken& stop) const;
  // Tokenizes without a limit. Errors: those of Model::tokenize, which name `param`.
  Result<std::vector<engine::Token>> plain(std::string_view text, bool add_special, bool parse_special,
                                           const std::string& param) const;
  const engine::InferenceEngine& service() const { return service_; }

 private:
  Result<> check_tokens(std::span<const engine::Token> given, const std::string& param) const;
  Result<> check_bytes(std::size_t bytes, std::size_t max, const std::string& param) const;
  std::size_t longest_token() const;

  const engine::InferenceEngine& service_;
  mutable std::once_flag measured_;
  mutable std::size_t longest_token_ = 1;
};

// Result of stopped work, which no caller reads.
std::unexpected<Error> stopped();

}  // namespace corral::engine_server
