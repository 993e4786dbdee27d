#include "models/gguf/gguf_types.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace corral::models {
namespace {

constexpr std::array kTensorTypes{
    TensorType{0, "F32", 1, 4},         TensorType{1, "F16", 1, 2},         TensorType{2, "Q4_0", 32, 18},
    TensorType{3, "Q4_1", 32, 20},      TensorType{6, "Q5_0", 32, 22},      TensorType{7, "Q5_1", 32, 24},
    TensorType{8, "Q8_0", 32, 34},      TensorType{9, "Q8_1", 32, 36},      TensorType{10, "Q2_K", 256, 84},
    TensorType{11, "Q3_K", 256, 110},   TensorType{12, "Q4_K", 256, 144},   TensorType{13, "Q5_K", 256, 176},
    TensorType{14, "Q6_K", 256, 210},   TensorType{15, "Q8_K", 256, 292},   TensorType{16, "IQ2_XXS", 256, 66},
    TensorType{17, "IQ2_XS", 256, 74},  TensorType{18, "IQ3_XXS", 256, 98}, TensorType{19, "IQ1_S", 256, 50},
    TensorType{20, "IQ4_NL", 32, 18},   TensorType{21, "IQ3_S", 256, 110},  TensorType{22, "IQ2_S", 256, 82},
    TensorType{23, "IQ4_XS", 256, 136}, TensorType{24, "I8", 1, 1},         TensorType{25, "I16", 1, 2},
    TensorType{26, "I32", 1, 4},        TensorType{27, "I64", 1, 8},        TensorType{28, "F64", 1, 8},
    TensorType{29, "IQ1_M", 256, 56},   TensorType{30, "BF16", 1, 2},       TensorType{34, "TQ1_0", 256, 54},
    TensorType{35, "TQ2_0", 256, 66},   TensorType{39, "MXFP4", 32, 17},    TensorType{40, "NVFP4", 64, 36},
    TensorType{41, "Q1_0", 128, 18},    TensorType{42, "Q2_0", 64, 18},
};

struct FileTypeRow {
  std::uint32_t id;
  std::string_view name;
};
constexpr std::array kFileTypes{
    FileTypeRow{0, "F32"},      FileTypeRow{1, "F16"},     FileTypeRow{2, "Q4_0"},    FileTypeRow{3, "Q4_1"},
    FileTypeRow{7, "Q8_0"},     FileTypeRow{8, "Q5_0"},    FileTypeRow{9, "Q5_1"},    FileTypeRow{10, "Q2_K"},
    FileTypeRow{11, "Q3_K_S"},  FileTypeRow{12, "Q3_K_M"}, FileTypeRow{13, "Q3_K_L"}, FileTypeRow{14, "Q4_K_S"},
    FileTypeRow{15, "Q4_K_M"},  FileTypeRow{16, "Q5_K_S"}, FileTypeRow{17, "Q5_K_M"}, FileTypeRow{18, "Q6_K"},
    FileTypeRow{19, "IQ2_XXS"}, FileTypeRow{20, "IQ2_XS"}, FileTypeRow{21, "Q2_K_S"}, FileTypeRow{22, "IQ3_XS"},
    FileTypeRow{23, "IQ3_XXS"}, FileTypeRow{24, "IQ1_S"},  FileTypeRow{25, "IQ4_NL"}, FileTypeRow{26, "IQ3_S"},
    FileTypeRow{27, "IQ3_M"},   FileTypeRow{28, "IQ2_S"},  FileTypeRow{29, "IQ2_M"},  FileTypeRow{30, "IQ4_XS"},
    FileTypeRow{31, "IQ1_M"},   FileTypeRow{32, "BF16"},   FileTypeRow{36, "TQ1_0"},  FileTypeRow{37, "TQ2_0"},
    FileTypeRow{38, "MXFP4"},   FileTypeRow{39, "NVFP4"},  FileTypeRow{40, "Q1_0"},   FileTypeRow{41, "Q2_0"},
};
constexpr std::uint64_t kInferredBit = 1024;

// The families that names of quantisations begin with, followed by a digit and perhaps "_SOMETHING".
constexpr std::array<std::string_view, 5> kFamilies{"q", "iq", "tq", "mxfp", "nvfp"};
constexpr std::array<std::string_view, 6> kWholeNames{"f32", "f16", "bf16", "fp16", "fp32", "f64"};

}  // namespace

const TensorType* tensor_type(std::uint32_t id) {
  const auto row = std::ranges::find(kTensorTypes, id, &TensorType::id);
  return row == kTensorTypes.end() ? nullptr : &*row;
}

std::optional<std::string_view> file_type_name(std::uint64_t file_type) {
  const auto row = std::ranges::find(kFileTypes, file_type & ~kInferredBit, &FileTypeRow::id);
  if (row == kFileTypes.end()) return std::nullopt;
  return row->name;
}

bool is_quantisation(std::string_view text) {
  const std::string folded = to_lower(text);
  std::string_view rest = folded;
  if (rest.starts_with("ud-")) rest.remove_prefix(3);  // a common publisher's prefix for dynamic quantisations
  if (std::ranges::find(kWholeNames, rest) != kWholeNames.end()) return true;
  return std::ranges::any_of(kFamilies, [rest](std::string_view family) {
    if (!rest.starts_with(family) || rest.size() == family.size()) return false;
    const std::string_view tail = rest.substr(family.size());
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!is_digit(tail[0])) return false;
    const auto plain = [&](char c) { return c == '_' || is_digit(c) || (c >= 'a' && c <= 'z'); };
    return std::ranges::all_of(tail, plain) && (tail.size() == 1 || tail[1] == '_');
  });
}

}  // namespace corral::models
