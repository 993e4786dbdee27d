// The decision after an attempt to fetch something, as a pure table. The random part of a pause is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "downloads/transfer/ranges.h"

namespace corral::downloads {

// How the connection ended.
enum class Fault : std::uint8_t {
  none,        // the response was complete
  stalled,     // no data for too long
  broken,      // cut, reset, or a response against the protocol
  no_connect,  // name not found, refused, no route, proxy failed
  bad_tls,     // an untrusted certificate
  too_large,   // a response beyond its limit
  not_taken,   // the receiver of the bytes refused: the disk
};

// The result of one attempt.
struct Outcome {
  Fault fault = Fault::none;
  std::string detail = {};      // of a fault, as text
  int status = 0;               // HTTP; 0 without a response
  bool elsewhere = false;       // a redirect led to another server, and the response is that server's
  std::string error_code = {};  // X-Error-Code
  bool with_token = false;      // a token was sent
  std::optional<std::chrono::seconds> retry_after = {};
  std::optional<Range> got_range = {};      // Content-Range of a 206
  std::optional<std::uint64_t> total = {};  // the size after the "/" of Content-Range, or the length of a 200
  std::uint64_t received = 0;               // bytes of the range that were written
};

inline constexpr std::string_view kHubVariable = "HF_ENDPOINT", kOllamaVariable = "CORRAL_OLLAMA_REGISTRY";

// The request, also for messages.
struct Asked {
  std::string repo = {};  // "org/repo"; empty for a URL
  std::string revision = {};
  std::string what = {};                   // "model.gguf"; a URL; "search"
  bool is_file = true;                     // `what` is the name of a file, or a URL
  std::string endpoint = {};               // "https://huggingface.co"
  std::string endpoint_variable = {};      // the variable that sets another server: "HF_ENDPOINT"; empty: none
  std::optional<Range> range = {};         // of a file's bytes
  std::optional<std::uint64_t> size = {};  // of the whole file, as listed
};

enum class Step : std::uint8_t {
  done,       // everything was fetched
  again,      // retry after the pause, from the same byte
  one_piece,  // the server supports no ranges: after the pause, fetch the file again over one connection
  fail,       // with the error
};

struct Decision {
  Step step = Step::done;
  Millis pause{0};
  bool fresh_connection = false;
  std::optional<Error> error = {};
};

struct RetryRules {
  int max_tries = 8;        // in a row without a byte
  Millis first_pause{500};  // doubled each time
  Millis longest_pause{30'000};
  int max_expired = 4;                     // signed URLs that are requested anew in a row
  std::chrono::seconds longest_rest{300};  // the longest pause that a server may ask for
};

// Consecutive attempts to fetch one thing.
class Attempts {
 public:
  explicit Attempts(RetryRules rules = {}) : rules_(rules) {}

  // `dice`: any 64 random bits; a pause is between half and all of its length.
  Decision decide(const Asked& asked, const Outcome& outcome, std::uint64_t dice);

  int in_vain() const { return in_vain_; }

 private:
  Decision again(const Asked& asked, const Outcome& outcome, std::uint64_t dice, Error last);

  RetryRules rules_;
  int in_vain_ = 0;
  int whole_answers_ = 0;  // 200 for a range
  int expired_ = 0;        // refusals of signed URLs without a byte in between
};

// The error of a response that refuses the request; nullopt: it doesn't.
std::optional<Error> refusal(const Asked& asked, const Outcome& outcome);

}  // namespace corral::downloads
