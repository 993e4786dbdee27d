// What every recipe makes, and the brushes it paints tensors with. Pure; one recipe belongs to one thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gguf_file.h"
#include "random.h"

namespace corral::test_models {

struct Model {
  Metadata metadata;
  std::vector<Tensor> tensors{};
};

// llama.h's LLAMA_FTYPE_*: what most of the weights are stored as.
enum class FileType : std::uint32_t { kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ8_0 = 7 };

constexpr FileType file_type(ggml_type matrices) {
  switch (matrices) {
    case GGML_TYPE_F16:
      return FileType::kF16;
    case GGML_TYPE_Q8_0:
      return FileType::kQ8_0;
    case GGML_TYPE_Q4_0:
      return FileType::kQ4_0;
    default:
      return FileType::kF32;
  }
}

// The keys that every converted model has. `name` is what a person reads ("Tiny Llama").
void describe_model(Metadata& metadata, const std::string& architecture, const std::string& name, FileType type);

inline Fill constant(float value) {
  return [value](std::span<float> out) { std::ranges::fill(out, value); };
}

// The weights of one model: each tensor gets a random stream of its own.
class Weights {
 public:
  Weights(std::uint64_t seed, std::string model) : seed_(seed), model_(std::move(model)) {}

  Random stream(const std::string& tensor) const { return {seed_, {model_, tensor}}; }

  // Bell-shaped values with this standard deviation.
  Tensor normal(const std::string& name, ggml_type type, std::vector<std::int64_t> shape, float deviation) const {
    return {name, type, std::move(shape), [random = stream(name), deviation](std::span<float> out) mutable {
              for (float& value : out) value = random.normal() * deviation;
            }};
  }
  // A matrix that maps unit-sized inputs to outputs of size `gain`, whatever the width.
  Tensor projection(const std::string& name, ggml_type type, std::vector<std::int64_t> shape, float gain) const {
    const float deviation = gain / std::sqrt(static_cast<float>(shape[0]));
    return normal(name, type, std::move(shape), deviation);
  }
  static Tensor fixed(const std::string& name, std::vector<std::int64_t> shape, float value) {
    return {name, GGML_TYPE_F32, std::move(shape), constant(value)};
  }

 private:
  std::uint64_t seed_;
  std::string model_{};
};

}  // namespace corral::test_models
