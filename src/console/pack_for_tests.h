// Makes packs as web/pack.mjs does.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

namespace corral::console {

struct TestFile {
  std::string path, type, content, etag;
  bool immutable = false;
};

inline std::string gzipped(std::string content) {
  std::string out(content.size() + 200, '\0');
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string packed(const std::vector<TestFile>& files) {
  std::string head, bytes;
  for (const auto& file : files) {
    const auto gzip = gzipped(file.content);
    head += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", file.path, file.type, file.content.size(), gzip.size(), file.etag,
                        file.immutable ? "immutable" : "fresh");
    bytes += gzip;
  }
  return head + "\n" + bytes;
}

}  // namespace corral::console
