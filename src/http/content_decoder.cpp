#include "http/content_decoder.h"

#include <algorithm>
#include <new>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "http/errors.h"

namespace corral::http {
namespace {

// The largest window that a zstd content coding may have (RFC 9659 §3).
constexpr int kZstdWindowLog = 23;
// The state of inflate() and its window (zlib.h: inflateInit2).
constexpr std::uint64_t kZlibMemory = 44 * 1024;

std::unexpected<Error> not_decodable(std::string_view coding, std::string_view why) {
  return fail(errc::bad_encoding,
              fmt::format("the body is not the {} that its Content-Encoding names: {}", coding, why),
              "Content-Encoding");
}

}  // namespace

class ContentDecoder::Coding {
 public:
  virtual ~Coding() = default;
  // Decodes bytes from the beginning of `input`, which it shortens. Returns how many it wrote to `room`.
  virtual Result<std::size_t> decode(std::string_view& input, std::span<char> room) = 0;
  // Whether the input may end here.
  virtual bool complete() const = 0;
  virtual std::uint64_t memory() const = 0;
};

namespace {

using Coding = ContentDecoder::Coding;

// gzip and deflate.
class Inflater final : public Coding {
 public:
  explicit Inflater(bool gzip) : gzip_(gzip) {
    constexpr int kGzip = 16, kLargestWindow = 15;
    if (inflateInit2(&stream_, gzip ? kLargestWindow + kGzip : kLargestWindow) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() override { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Result<std::size_t> decode(std::string_view& input, std::span<char> room) override {
    auto* const begin = reinterpret_cast<Bytef*>(room.data());
    stream_.next_out = begin;
    stream_.avail_out = static_cast<uInt>(room.size());
    while (!input.empty() || (begun_ && !ended_)) {
      if (!std::exchange(begun_, true)) recognize(input.front());
      if (ended_) {
        // gzip files may be concatenated (RFC 1952 §2.2).
        if (!gzip_) return not_decodable(name(), "bytes follow its end");
        inflateReset(&stream_);
      }
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
      stream_.avail_in = static_cast<uInt>(input.size());
      const int result = inflate(&stream_, Z_NO_FLUSH);
      input.remove_prefix(input.size() - stream_.avail_in);
      ended_ = result == Z_STREAM_END;
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      // Z_BUF_ERROR: it needs more input, or more room.
      if (result != Z_OK && result != Z_BUF_ERROR && !ended_)
        return not_decodable(name(), stream_.msg != nullptr ? stream_.msg : "it needs a dictionary");
      if (!ended_ || stream_.avail_out == 0) break;
    }
    return static_cast<std::size_t>(stream_.next_out - begin);
  }
  bool complete() const override { return ended_; }
  std::uint64_t memory() const override { return kZlibMemory; }

 private:
  std::string_view name() const { return gzip_ ? "gzip" : "deflate"; }
  // In the zlib form the lower half of the first byte is 8 (RFC 1950 §2.2). A raw stream with that byte would begin
  // with a stored block whose padding isn't zero, and no encoder writes that.
  void recognize(char first) {
    constexpr int kRaw = -15;
    if (!gzip_ && (first & 0x0f) != 8) inflateReset2(&stream_, kRaw);
  }

  const bool gzip_;
  z_stream stream_ = {};
  bool begun_ = false, ended_ = false;
};

class ZstdDecoder final : public Coding {
 public:
  ZstdDecoder() : stream_(ZSTD_createDStream()) {
    if (!stream_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kZstdWindowLog);
  }

  Result<std::size_t> decode(std::string_view& input, std::span<char> room) override {
    // Without input, a call is of use only if the last one had no room for all of its output. Repeated calls without
    // effect are an error for the library.
    if (input.empty() && (complete_ || !was_full_)) return 0;
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    const auto wanted = ZSTD_decompressStream(stream_.get(), &out, &in);
    input.remove_prefix(in.pos);
    if (ZSTD_isError(wanted) != 0) {
      if (ZSTD_getErrorCode(wanted) == ZSTD_error_frameParameter_windowTooLarge)
        return not_decodable("zstd", fmt::format("its window is larger than {} MiB; compress it with a lower level",
                                                 (1 << kZstdWindowLog) >> 20));
      return not_decodable("zstd", ZSTD_getErrorName(wanted));
    }
    complete_ = wanted == 0;
    was_full_ = out.pos == out.size;
    return out.pos;
  }
  bool complete() const override { return complete_; }
  std::uint64_t memory() const override { return ZSTD_sizeof_DStream(stream_.get()); }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  const std::unique_ptr<ZSTD_DStream, Free> stream_;
  bool complete_ = false;  // at the end of a frame; others may follow
  bool was_full_ = false;  // the last call used all of its room
};

std::unique_ptr<Coding> make_coding(ContentCoding coding) {
  if (coding == ContentCoding::zstd) return std::make_unique<ZstdDecoder>();
  return std::make_unique<Inflater>(coding == ContentCoding::gzip);
}

}  // namespace

ContentDecoder::ContentDecoder(std::span<const ContentCoding> codings, Limit limit) : limit_(limit) {
  for (const auto coding : codings | std::views::reverse)
    stages_.push_back({make_coding(coding), std::make_unique_for_overwrite<char[]>(kStep), {}, 0});
}

ContentDecoder::~ContentDecoder() = default;

Result<ContentDecoder::Step> ContentDecoder::step() {
  bool moved = false;
  std::string_view* input = &unread_;
  for (auto& stage : stages_) {
    if (stage.unread.empty()) {
      auto piece = input->substr(0, kStep);
      const auto before = piece.size();
      const auto wrote = stage.coding->decode(piece, {stage.output.get(), kStep});
      if (!wrote) return std::unexpected(wrote.error());
      input->remove_prefix(before - piece.size());
      stage.unread = {stage.output.get(), *wrote};
      stage.total += *wrote;
      if (stage.total > limit_.bytes) return std::unexpected(too_large());
      moved = moved || *wrote > 0 || piece.size() < before;
    }
    input = &stage.unread;
  }
  return Step{std::exchange(*input, {}), !moved};
}

void ContentDecoder::feed(std::string_view encoded) {
  encoded_ = encoded;
  unread_ = encoded_;
  fed_ += encoded.size();
}

Result<> ContentDecoder::finish() const {
  // A body without bytes is an empty body, whatever its Content-Encoding says.
  const auto done = [](const Stage& stage) { return stage.coding->complete(); };
  if (fed_ == 0 || std::ranges::all_of(stages_, done)) return {};
  return fail(errc::truncated, "the body ended before the end of its encoded data: send all of it", "Content-Encoding");
}

std::uint64_t ContentDecoder::handled() const {
  std::uint64_t sum = fed_;
  for (const auto& stage : stages_) sum += stage.total;
  return sum;
}

std::uint64_t ContentDecoder::memory() const {
  std::uint64_t sum = encoded_.capacity();
  for (const auto& stage : stages_) sum += kStep + stage.coding->memory();
  return sum;
}

Error ContentDecoder::too_large() const {
  return {make_error_code(errc::too_large),
          fmt::format("the decoded body has more than {} bytes; send less, or raise {}", limit_.bytes, limit_.option)};
}

}  // namespace corral::http
