// What to do after an attempt to fetch something: a pure table of decisions. The random part of a pause comes in as a
// number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "downloads/ranges.h"

namespace corral::downloads {

// What became of the connection.
enum class Fault : std::uint8_t {
  none,        // the answer came to its end
  stalled,     // silence for too long
  broken,      // cut, reset, or an answer against the protocol
  no_connect,  // name not found, refused, no route, proxy failed
  bad_tls,     // a certificate that can't be trusted
  too_large,   // an answer beyond its bound
  not_taken,   // whoever takes the bytes refused: the disk
};

// One attempt, as it ended.
struct Outcome {
  Fault fault = Fault::none;
  std::string detail = {};      // of a fault, for people
  int status = 0;               // HTTP; 0 if no answer came
  bool redirected = false;      // the answer came from another address than the one asked
  std::string error_code = {};  // X-Error-Code
  bool with_token = false;      // a token was sent
  std::optional<std::chrono::seconds> retry_after = {};
  std::optional<Range> got_range = {};      // Content-Range of a 206
  std::optional<std::uint64_t> total = {};  // behind the "/" of Content-Range, or the length of a 200
  std::uint64_t received = 0;               // bytes of the range that were written
};

inline constexpr std::string_view kHubVariable = "HF_ENDPOINT", kOllamaVariable = "CORRAL_OLLAMA_REGISTRY";

// What was asked for; for the messages, too.
struct Asked {
  std::string repo = {};  // "org/repo"; empty for an address
  std::string revision = {};
  std::string what = {};                   // "model.gguf"; an address; "search"
  bool is_file = true;                     // `what` is the name of a file, or an address
  std::string endpoint = {};               // "https://huggingface.co"
  std::string endpoint_variable = {};      // which names another server: "HF_ENDPOINT"; empty: none
  std::optional<Range> range = {};         // of a file's bytes
  std::optional<std::uint64_t> size = {};  // the whole file's, as promised
};

enum class Step : std::uint8_t {
  done,       // all of it is there
  again,      // after the pause, from where it stopped
  one_piece,  // the server gives no ranges: after the pause, with one connection for the file that is read over
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
  std::chrono::seconds longest_rest{300};  // that a server may ask for
};

// The attempts at one thing, one after the other.
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
};

// The error for an answer that no other attempt would change; nothing for one that is worth trying again.
std::optional<Error> refusal(const Asked& asked, const Outcome& outcome);

}  // namespace corral::downloads
