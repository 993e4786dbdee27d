#include "engine/media/media_decoder.h"

#include <cstdint>
#include <utility>

#include <mtmd-helper.h>
#include <mtmd.h>
#include <webp/decode.h>

namespace corral::engine {
namespace {

Bitmap decode_webp(MediaBytes file) {
  struct FreePixels {
    void operator()(std::uint8_t* pixels) const { WebPFree(pixels); }
  };
  int width = 0, height = 0;
  const std::unique_ptr<std::uint8_t, FreePixels> pixels(WebPDecodeRGB(file.data(), file.size(), &width, &height));
  if (!pixels || width <= 0 || height <= 0) return nullptr;
  return Bitmap(mtmd_bitmap_init(static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), pixels.get()));
}

Bitmap decode_other(const mtmd_context* context, MediaBytes file) {
  // What is no picture could be a video, for which a libmtmd of the system may run ffmpeg: it finds none.
  mtmd_helper_init_opt options = mtmd_helper_init_opt_default();
  options.video_params.ffmpeg_bin_dir = "/dev/null";
  const mtmd_helper_bitmap_wrapper made =
      mtmd_helper_bitmap_init_from_buf(context, file.data(), file.size(), false, options);
  if (made.video_ctx != nullptr) mtmd_helper_video_free(made.video_ctx);
  return Bitmap(made.bitmap);
}

}  // namespace

void FreeBitmap::operator()(mtmd_bitmap* bitmap) const { mtmd_bitmap_free(bitmap); }

Bitmap decode_media(const mtmd_context* context, MediaBytes file, const MediaHeader& header) {
  if (is_sound(header.format)) return decode_other(context, plain_sound(file, header.format));
  Bitmap bitmap = header.format == MediaFormat::webp ? decode_webp(file) : decode_other(context, file);
  const bool expected =
      bitmap && mtmd_bitmap_get_nx(bitmap.get()) == header.width && mtmd_bitmap_get_ny(bitmap.get()) == header.height;
  return expected ? std::move(bitmap) : nullptr;
}

}  // namespace corral::engine
