#include "base/recipe.h"

#include <algorithm>
#include <array>

namespace corral {
namespace {

constexpr Device kCpu = Device::cpu, kGpu = Device::gpu, kNpu = Device::npu;

constexpr std::array kText{ModelType::llm, ModelType::embedding, ModelType::reranking};
constexpr std::array kChat{ModelType::llm};
constexpr std::array kFlm{ModelType::llm, ModelType::transcription, ModelType::embedding};
constexpr std::array kTranscription{ModelType::transcription};
constexpr std::array kImages{ModelType::image};
constexpr std::array kSpeech{ModelType::tts};
constexpr std::array kMany{ModelType::llm,           ModelType::embedding, ModelType::reranking,
                           ModelType::transcription, ModelType::image,     ModelType::tts};

constexpr std::array kRecipes{
    Recipe{"llamacpp", kGpu, kCpu | kGpu, NpuUse::none, kText, ""},
    Recipe{"oga-cpu", kCpu, kCpu, NpuUse::none, kChat, "ryzenai-server"},
    Recipe{"oga-hybrid", kGpu | kNpu, kGpu | kNpu, NpuUse::exclusive, kChat, "ryzenai-server"},
    Recipe{"oga-npu", kNpu, kNpu, NpuUse::exclusive, kChat, "ryzenai-server"},
    Recipe{"ryzenai-llm", kNpu, kNpu, NpuUse::exclusive, kChat, "ryzenai-server"},
    Recipe{"flm", kNpu, kNpu, NpuUse::coexist, kFlm, "flm"},
    Recipe{"vllm", kGpu, kGpu, NpuUse::none, kText, "vllm"},
    Recipe{"whispercpp", kCpu, kCpu | kGpu | kNpu, NpuUse::exclusive, kTranscription, "whisper-server"},
    Recipe{"moonshine", kCpu, kCpu, NpuUse::none, kTranscription, "moonshine-server"},
    Recipe{"sd-cpp", kCpu, kCpu | kGpu, NpuUse::none, kImages, "sd-server"},
    Recipe{"thenoise", kGpu, kGpu, NpuUse::none, kImages, "thenoise"},
    Recipe{"kokoro", kCpu, kCpu, NpuUse::none, kSpeech, "koko"},
    Recipe{"espeak-ng", kCpu, kCpu, NpuUse::none, kSpeech, "espeak-ng"},
    Recipe{"openmoss", kGpu, kGpu, NpuUse::none, kSpeech, "moss-tts-server"},
    Recipe{"llama-server", kGpu, kCpu | kGpu, NpuUse::none, kText, "llama-server"},
    Recipe{"command", kCpu, kCpu | kGpu, NpuUse::none, kMany, "a command"},
    Recipe{"lemonade", kCpu, kCpu, NpuUse::none, kMany, "a running server"},
    Recipe{"lmstudio", kCpu, kCpu, NpuUse::none, kText, "a running server"},
    Recipe{"ollama", kCpu, kCpu, NpuUse::none, kText, "a running server"},
};

}  // namespace

std::span<const Recipe> recipes() { return kRecipes; }

bool takes_gguf(std::string_view recipe) { return recipe == "llamacpp" || recipe == "llama-server"; }

bool serves(const Recipe& recipe, ModelType type) {
  return std::ranges::find(recipe.types, type) != recipe.types.end();
}

}  // namespace corral
