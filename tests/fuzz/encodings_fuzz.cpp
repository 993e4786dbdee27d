// Encoded bodies. What is decoded doesn't depend on the pieces that it comes in, and a step is bounded.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "http/content_decoder.h"

namespace {

using corral::http::ContentCoding;
using corral::http::ContentDecoder;

constexpr std::uint64_t kLimit = 1 << 20;

void must(bool fine) {
  if (!fine) std::abort();
}

struct Decoded {
  std::string text;
  bool wrong = false;
};

Decoded decoded(std::string_view encoded, const std::vector<ContentCoding>& codings, std::size_t size) {
  ContentDecoder decoder(codings, {kLimit, "limit"});
  Decoded all;
  while (true) {
    const auto step = decoder.step();
    all.wrong = !step;
    if (all.wrong) return all;
    must(step->bytes.size() <= ContentDecoder::kStep);
    all.text += step->bytes;
    must(all.text.size() <= kLimit);
    must(decoder.memory() < codings.size() * (16u << 20));
    if (!step->hungry) continue;
    if (encoded.empty()) break;
    decoder.feed(encoded.substr(0, size));
    encoded.remove_prefix(std::min(size, encoded.size()));
  }
  all.wrong = !decoder.finish();
  return all;
}

}  // namespace

// Which codings, the size of a piece, then the body.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::vector<ContentCoding> codings;
  for (unsigned rest = data[0] % 64; rest % 4 != 0; rest /= 4)
    codings.push_back(static_cast<ContentCoding>(rest % 4 - 1));
  if (codings.empty()) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);

  const auto whole = decoded(body, codings, body.size() + 1);
  const auto cut = decoded(body, codings, data[1] % 16 + 1);
  // The library of zstd reads a small frame at once without all checks, if it has all of it.
  if (std::ranges::find(codings, ContentCoding::zstd) != codings.end()) return 0;
  must(whole.wrong == cut.wrong);
  must(whole.wrong || whole.text == cut.text);
  return 0;
}
