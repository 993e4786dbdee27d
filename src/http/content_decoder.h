// Decodes bodies with a Content-Encoding (RFC 9110 §8.4): gzip (RFC 1952), deflate (RFC 1950, and the raw form of
// RFC 1951 that some clients send), zstd (RFC 8878), or several of them.
//
// A few encoded bytes may decode to gigabytes. So each step reads and writes a bounded number of bytes, the output of
// every coding counts against the limit (that of an inner coding may decode to nothing), and windows of zstd are
// limited to 8 MiB (RFC 9659).
//
// Belongs to one task; no two threads at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "http/request_rules.h"

namespace corral::http {

class ContentDecoder {
 public:
  // The largest number of bytes that a coding reads or writes in one step.
  static constexpr std::size_t kStep = 64 * 1024;

  struct Limit {
    std::uint64_t bytes = 0;
    std::string_view option;  // the name of the option that sets it, for the message
  };
  // `codings`: at least one, in the order in which they were applied.
  ContentDecoder(std::span<const ContentCoding> codings, Limit limit);
  ~ContentDecoder();

  struct Step {
    std::string_view bytes = {};  // decoded; valid until the next step
    bool hungry = false;          // needs more encoded bytes
  };
  // One step. If it returns no bytes and isn't hungry, call it again. Errors: bad_encoding, too_large; the decoder
  // can't be used then.
  Result<Step> step();
  // Takes more encoded bytes; only when the last step was hungry.
  void feed(std::string_view encoded);
  // Whether the encoded bytes may end here, when the last step was hungry. Errors: truncated.
  Result<> finish() const;

  // The bytes that were fed and those that its codings wrote: a measure of its work.
  std::uint64_t handled() const;
  // Bytes that it holds at present.
  std::uint64_t memory() const;

  class Coding;  // public in name only: defined in the .cpp

 private:
  // A coding with its output that the next one has not read.
  struct Stage {
    std::unique_ptr<Coding> coding;
    std::unique_ptr<char[]> output;
    std::string_view unread;
    std::uint64_t total = 0;
  };
  Error too_large() const;

  const Limit limit_;
  std::vector<Stage> stages_;  // in the order of decoding
  std::string encoded_;
  std::string_view unread_;  // of encoded_
  std::uint64_t fed_ = 0;
};

}  // namespace corral::http
