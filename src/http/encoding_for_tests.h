// For tests: bodies as clients encode them.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <string_view>

#include <zlib.h>
#include <zstd.h>

namespace corral::http {

// `window`: of zlib's deflateInit2(): 31 gzip, 15 zlib, -15 raw.
inline std::string deflated(std::string_view text, int window) {
  z_stream stream = {};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}
inline std::string gzipped(std::string_view text) { return deflated(text, 31); }

// `window_log` 0: as the library has it for the level.
inline std::string zstd_of(std::string_view text, int window_log = 0) {
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  if (window_log != 0) {
    // Without the size of the content, which would make the window as small as that.
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, window_log);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 0);
  }
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  // First the beginning by itself, so that the library doesn't know the size.
  if (window_log != 0) ZSTD_compressStream2(context.get(), &to, &in, ZSTD_e_flush);
  ZSTD_compressStream2(context.get(), &to, &in, ZSTD_e_end);
  out.resize(to.pos);
  return out;
}

}  // namespace corral::http
