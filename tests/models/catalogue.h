// Which models there are, and the making of the whole set with its manifest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::test_models {

// The small ones; those of real size, for benchmarks, their projector for pictures, and a large one, for GPUs; those
// that are nearly all weights, for memory that is scarce; those with pre-tokenizers that take much stack or time for
// some texts; those that take pictures.
enum class Set : std::uint8_t { small, real, real_projectors, large, weighty, quantised, pretokenizers, vision };

struct Options {
  std::filesystem::path out{};           // created if need be; files of other names in it stay as they are
  std::filesystem::path vocabularies{};  // folder of llama.cpp's ggml-vocab-*.gguf
  std::uint64_t seed = 1;
  Set set = Set::small;
  std::function<void(std::string_view)> on_model = [](std::string_view) {};  // told the name before each is made
};

// Makes the set in a temporary folder beside `out`, then moves file by file into place, the manifest models.json last:
// a reader finds each file whole, old or new. Throws std::runtime_error or std::filesystem::filesystem_error.
void make_models(const Options& options);

}  // namespace corral::test_models
