// Answers of the image endpoints: what a backend sends, and what the client gets. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialects/images/requests.h"

namespace corral::dialects::images {

// One image of an answer.
struct MadeImage {
  std::string base64 = {};
  std::string url = {};   // instead of base64
  std::string size = {};  // "512x512"; empty: it can't be read
};

// From a canonical answer: {"data":[{"b64_json":"..."}]}. Errors: remote_upstream, if there is no image.
Result<std::vector<MadeImage>> read_images(const std::string& answer);

// The whole answer. `created`: seconds since 1970.
std::string images_answer(const ImagesAsked& asked, std::span<const MadeImage> images, std::int64_t created);
// The event of a complete image.
std::string image_event(const ImagesAsked& asked, const MadeImage& image, std::int64_t created);

}  // namespace corral::dialects::images
