// Tables of GGUF's world: the tensor types with their block sizes, and the names of general.file_type. From ggml.h and
// llama.h of llama.cpp v0.5.0; an unknown number belongs to a later version and is accepted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace corral::models {

struct TensorType {
  std::uint32_t id;
  std::string_view name;       // "Q8_0"
  std::uint32_t block_length;  // elements in one block
  std::uint32_t block_bytes;
};

const TensorType* tensor_type(std::uint32_t id);

// "Q4_K_M" for general.file_type 15; nothing for unknown numbers. The bit "type is uncertain" (1024) is ignored.
std::optional<std::string_view> file_type_name(std::uint64_t file_type);

// True for names of quantisations as they stand in file names: "Q4_K_M", "q8_0", "IQ2_XXS", "F16", "BF16",
// "UD-Q4_K_XL", "MXFP4_MOE". Case doesn't matter.
bool is_quantisation(std::string_view text);

}  // namespace corral::models
