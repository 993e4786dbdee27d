// The messages of a stream of purpose `copy`: requests, and answers in the same order.
//
//   'M' content (32)               → 'm' length (4) signed manifest   |  'n' length (2) why not
//   'R' file (2) range (4)         → 'r' length (4) bytes             |  'n' length (2) why not
//
// One manifest per stream, before ranges; ranges are of that content. Two requests may be in flight.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "mesh/copy/manifest.h"
#include "mesh/net/stream.h"

namespace corral::mesh {

struct WantManifest {
  Sha256 content{};
  friend bool operator==(const WantManifest&, const WantManifest&) = default;
};
using CopyQuestion = std::variant<WantManifest, RangeId>;
std::string encode(const CopyQuestion& question);

struct Refusal {
  std::string why;
};
std::string encode(const Refusal& refusal);
// In front of a manifest ('m') or the bytes of a range ('r').
std::string answer_head(char kind, std::uint32_t length);

// Reads exactly what is asked for, through one buffer.
class CopyReader {
 public:
  explicit CopyReader(Stream& stream);

  // True: there is more; false: the peer has ended the stream, at the end of a message. Errors: link_closed.
  async::Task<Result<bool>> more();
  async::Task<Result<>> read(char* into, std::size_t count);
  // Bytes received so far.
  std::uint64_t received() const { return received_; }
  // The next request. Errors: link_closed, malformed.
  async::Task<Result<CopyQuestion>> question();
  // The length of the answer; malformed if it is above `max_length`. Errors: not_offered (with the peer's reason),
  // malformed, link_closed.
  async::Task<Result<std::uint32_t>> answer(char kind, std::size_t max_length);

 private:
  Stream& stream_;
  std::unique_ptr<char[]> space_;
  std::string_view rest_;
  std::uint64_t received_ = 0;
};

}  // namespace corral::mesh
