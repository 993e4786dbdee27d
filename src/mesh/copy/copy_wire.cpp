#include "mesh/copy/copy_wire.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "base/utf8.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

constexpr std::size_t kBuffer = 256 * 1024;
constexpr std::size_t kLongestRefusal = 400;

std::unexpected<Error> nonsense() { return fail(errc::malformed, "the other end of a copy sent a malformed message"); }

}  // namespace

std::string encode(const CopyQuestion& question) {
  std::string text;
  ByteWriter out(text);
  if (const auto* manifest = std::get_if<WantManifest>(&question)) {
    out.raw("M").raw(manifest->content);
  } else {
    const auto range = std::get<RangeId>(question);
    out.raw("R").number<std::uint16_t>(range.file).number<std::uint32_t>(range.range);
  }
  return text;
}

std::string encode(const Refusal& refusal) {
  std::string text;
  ByteWriter(text).raw("n").sized<std::uint16_t>(std::string_view(refusal.why).substr(0, kLongestRefusal));
  return text;
}

std::string answer_head(char kind, std::uint32_t length) {
  std::string text(1, kind);
  ByteWriter(text).number<std::uint32_t>(length);
  return text;
}

CopyReader::CopyReader(Stream& stream) : stream_(stream), space_(std::make_unique_for_overwrite<char[]>(kBuffer)) {}

async::Task<Result<bool>> CopyReader::more() {
  if (!rest_.empty()) co_return true;
  const std::span<char> space(space_.get(), kBuffer);
  const auto got = co_await stream_.read_some(space);
  if (!got) co_return std::unexpected(got.error());
  rest_ = {space_.get(), *got};
  received_ += *got;
  co_return *got > 0;
}

async::Task<Result<>> CopyReader::read(char* into, std::size_t count) {
  while (count > 0) {
    if (rest_.empty() && count >= kBuffer) {  // directly into the target
      const std::span<char> space(into, count);
      const auto got = co_await stream_.read_some(space);
      if (!got) co_return std::unexpected(got.error());
      if (*got == 0) co_return fail(errc::link_closed, "the other end of a copy ended in the middle");
      into += *got;
      count -= *got;
      received_ += *got;
      continue;
    }
    const auto there = co_await more();
    if (!there) co_return std::unexpected(there.error());
    if (!*there) co_return fail(errc::link_closed, "the other end of a copy ended in the middle");
    const auto piece = std::min(count, rest_.size());
    std::memcpy(into, rest_.data(), piece);
    rest_.remove_prefix(piece);
    into += piece;
    count -= piece;
  }
  co_return Result<>();
}

async::Task<Result<CopyQuestion>> CopyReader::question() {
  char kind = 0;
  if (auto got = co_await read(&kind, 1); !got) co_return std::unexpected(got.error());
  std::array<char, 32> body{};
  const std::size_t size = kind == 'M' ? 32 : kind == 'R' ? 6 : 0;
  if (size == 0) co_return nonsense();
  if (auto got = co_await read(body.data(), size); !got) co_return std::unexpected(got.error());
  ByteReader in({body.data(), size});
  if (kind == 'M') co_return WantManifest{in.fixed<32>()};
  RangeId range;
  range.file = in.number<std::uint16_t>();
  range.range = in.number<std::uint32_t>();
  co_return range;
}

async::Task<Result<std::uint32_t>> CopyReader::answer(char kind, std::size_t max_length) {
  std::array<char, 5> head{};
  if (auto got = co_await read(head.data(), 3); !got) co_return std::unexpected(got.error());
  if (head[0] == 'n') {
    const auto length = ByteReader({head.data() + 1, 2}).number<std::uint16_t>();
    if (length > kLongestRefusal) co_return nonsense();
    std::string why(length, '\0');
    if (auto got = co_await read(why.data(), length); !got) co_return std::unexpected(got.error());
    co_return fail(errc::not_offered, valid_utf8(why));
  }
  if (head[0] != kind) co_return nonsense();
  if (auto got = co_await read(head.data() + 3, 2); !got) co_return std::unexpected(got.error());
  const auto length = ByteReader({head.data() + 1, 4}).number<std::uint32_t>();
  if (length > max_length) co_return nonsense();
  co_return length;
}

}  // namespace corral::mesh
