// What is said over a stream of purpose `copy`: questions in turns, answers in the same order.
//
//   'M' content (32)               → 'm' length (4) signed manifest   |  'n' length (2) why not
//   'R' file (2) range (4)         → 'r' length (4) bytes             |  'n' length (2) why not
//
// One manifest per stream, before ranges; ranges are of that content. Two questions may be on their way.
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

  // True: there is more; false: the peer has ended the conversation, at the end of a message. Errors: link_closed.
  async::Task<Result<bool>> more();
  async::Task<Result<>> read(char* into, std::size_t count);
  // Bytes that came, so far.
  std::uint64_t received() const { return received_; }
  // The next question. Errors: link_closed, malformed.
  async::Task<Result<CopyQuestion>> question();
  // What the answer is long, or why there is none (not_offered, with the peer's words). `most`: more is malformed.
  async::Task<Result<std::uint32_t>> answer(char kind, std::size_t most);

 private:
  Stream& stream_;
  std::unique_ptr<char[]> space_;
  std::string_view rest_;
  std::uint64_t received_ = 0;
};

}  // namespace corral::mesh
