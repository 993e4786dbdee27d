// Pictures and sounds of clients: what passes the check of headers is decoded within it, or is damaged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <mtmd-helper.h>
#include <mtmd.h>

#include "engine/media/media_decoder.h"
#include "engine/media/media_header.h"

namespace {

using namespace corral::engine;

void must(bool fine) {
  if (!fine) std::abort();
}

// Small ones, so that time goes into many files.
constexpr MediaLimits kLimits{.pixels = 1 << 16, .seconds = 10};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  mtmd_helper_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MediaBytes file(data, size);
  const auto header = read_media_header(file, kLimits);
  if (!header) {
    must(!header.error().message.empty());
    return 0;
  }
  // The decoder of sounds needs a model's sample rate: the plain file is checked instead.
  if (is_sound(header->format)) {
    const auto plain = plain_sound(file, header->format);
    must(header->format != MediaFormat::wav || read_media_header(plain, kLimits));
    return 0;
  }
  must(std::uint64_t{header->width} * header->height <= kLimits.pixels);
  const Bitmap bitmap = decode_media(nullptr, file, *header);
  if (!bitmap) return 0;
  must(mtmd_bitmap_get_n_bytes(bitmap.get()) == std::size_t{3} * header->width * header->height);
  return 0;
}
