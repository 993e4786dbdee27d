// Decodes pictures and sounds whose headers were checked: by libwebp, and by the decoders of libmtmd for other formats.
#pragma once

#include <memory>

#include "engine/media/media_header.h"

struct mtmd_bitmap;
struct mtmd_context;

namespace corral::engine {

struct FreeBitmap {
  void operator()(mtmd_bitmap* bitmap) const;
};
// Pixels of a picture, or samples of a sound.
using Bitmap = std::unique_ptr<mtmd_bitmap, FreeBitmap>;

// The content of a file; `header` is its header. Sounds have the sample rate that `context` takes; pictures need no
// context. nullptr: the file is damaged. Any thread; takes milliseconds and more.
Bitmap decode_media(const mtmd_context* context, MediaBytes file, const MediaHeader& header);

}  // namespace corral::engine
