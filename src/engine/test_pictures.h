// For tests: PNG files, and projectors for the small models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include "projector.h"

namespace corral::engine::test {

// A picture without compression, whose pixels follow from `salt`.
inline std::vector<std::uint8_t> picture(std::uint32_t width, std::uint32_t height, std::uint32_t salt = 1) {
  std::vector<std::uint8_t> pixels;
  for (std::uint32_t y = 0; y < height; ++y) {
    pixels.push_back(0);  // no filter
    for (std::uint32_t x = 0; x < width; ++x) {
      for (std::uint32_t c = 0; c < 3; ++c)
        pixels.push_back(static_cast<std::uint8_t>((x * 7 + y * 13 * (c + 1)) / 4 + salt * 50 * (c + x / 16 + y / 16)));
    }
  }
  std::vector<std::uint8_t> file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  const auto number = [](std::vector<std::uint8_t>& to, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<std::uint8_t>(value >> shift));
  };
  const auto chunk = [&](std::string_view type, const std::vector<std::uint8_t>& data) {
    number(file, static_cast<std::uint32_t>(data.size()));
    const std::size_t begin = file.size();
    file.insert(file.end(), type.begin(), type.end());
    file.insert(file.end(), data.begin(), data.end());
    number(file, static_cast<std::uint32_t>(crc32(0, file.data() + begin, static_cast<uInt>(file.size() - begin))));
  };
  std::vector<std::uint8_t> head;
  number(head, width);
  number(head, height);
  head.insert(head.end(), {8, 2, 0, 0, 0});
  chunk("IHDR", head);
  std::vector<std::uint8_t> data(compressBound(pixels.size()));
  uLongf size = data.size();
  EXPECT_EQ(compress2(data.data(), &size, pixels.data(), pixels.size(), 0), Z_OK);
  data.resize(size);
  chunk("IDAT", data);
  chunk("IEND", {});
  return file;
}

// Files that end with the program.
class TemporaryFiles {
 public:
  ~TemporaryFiles() {
    std::error_code ignored;
    for (const std::string& path : paths_) std::filesystem::remove(path, ignored);
  }
  void add(std::string path) { paths_.insert(std::move(path)); }

 private:
  std::set<std::string> paths_;
};

// A projector for tiny-llama ("mlp"), tiny-gemma3 ("gemma3") or tiny-qwen2vl ("qwen2vl"), in the test's temporary
// folder.
inline std::string projector_path(const std::string& kind, const test_models::ProjectorShape& shape = {}) {
  const std::string name = "mmproj-" + kind + "-" + std::to_string(shape.projected);
  const std::string path = ::testing::TempDir() + name + "-" + std::to_string(getpid()) + ".gguf";
  const auto make = kind == "gemma3"    ? test_models::make_gemma3_projector
                    : kind == "qwen2vl" ? test_models::make_qwen2vl_projector
                                        : test_models::make_llava_projector;
  const auto model = make(name, name, shape, 1);
  static TemporaryFiles files;
  files.add(path);
  test_models::write_gguf(path, model.metadata, model.tensors);
  return path;
}

}  // namespace corral::engine::test
