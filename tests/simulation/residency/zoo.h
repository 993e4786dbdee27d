// The models of the simulated house: several that fight for one type, several that fight for the NPU in each way there
// is.
#pragma once

#include <array>
#include <memory>

#include "residency/types.h"

namespace corral::residency::simulation {

inline constexpr Millis kDeadline{4000};

struct Animal {
  const char* name;
  ModelType type;
  Device device;
  const char* recipe;
  NpuPolicy npu;
  bool share = false;  // no model, but a part of another machine's
};

inline constexpr std::array kZoo{
    Animal{"ant", ModelType::llm, Device::gpu, "llamacpp", NpuPolicy::none},
    Animal{"bee", ModelType::llm, Device::gpu, "llamacpp", NpuPolicy::none},
    Animal{"cat", ModelType::llm, Device::cpu, "llamacpp", NpuPolicy::none},
    Animal{"dog", ModelType::llm, Device::gpu, "llamacpp", NpuPolicy::none},
    Animal{"elk", ModelType::embedding, Device::gpu, "llamacpp", NpuPolicy::none},
    Animal{"fox", ModelType::embedding, Device::cpu, "llamacpp", NpuPolicy::none},
    Animal{"gnu-npu-llm", ModelType::llm, Device::npu, "flm", NpuPolicy::coexist},
    Animal{"hen-npu-llm", ModelType::llm, Device::npu, "flm", NpuPolicy::coexist},
    Animal{"ibis-npu-embedding", ModelType::embedding, Device::npu, "flm", NpuPolicy::coexist},
    Animal{"jay-npu-ears", ModelType::transcription, Device::npu, "flm", NpuPolicy::coexist},
    Animal{"koi-npu-whole", ModelType::llm, Device::npu, "ryzenai-llm", NpuPolicy::exclusive},
    Animal{"lynx-npu-hybrid", ModelType::llm, Device::gpu | Device::npu, "oga-hybrid", NpuPolicy::exclusive},
    Animal{"mole-npu-whisper", ModelType::transcription, Device::npu, "whispercpp", NpuPolicy::exclusive},
    Animal{"newt", ModelType::image, Device::gpu, "sd-cpp", NpuPolicy::none},
    Animal{"ox-share", ModelType::llm, Device::gpu, "share", NpuPolicy::none, true},
};
inline constexpr std::size_t kModels = kZoo.size() - 1;
inline constexpr std::uint8_t kShare = kModels;

// What may change about a model while it lives.
struct Traits {
  MemoryUse memory = {};     // as the core is told
  bool understated = false;  // it really takes twice as much
  EvictionSettings eviction = {};
};

inline SpecPtr spec_of(std::size_t animal, std::uint64_t options, const Traits& traits,
                       RequestOrigin origin = RequestOrigin::local) {
  const Animal& a = kZoo[animal];
  ModelSpec spec;
  spec.name = ModelName(a.name);
  spec.type = a.type;
  spec.device = a.device;
  spec.recipe = a.recipe;
  spec.npu = a.npu;
  spec.options = options;
  spec.origin = origin;
  spec.load_deadline = kDeadline;
  spec.memory = traits.memory;
  spec.eviction = traits.eviction;
  spec.share = spec.once = a.share;
  return std::make_shared<const ModelSpec>(std::move(spec));
}

inline std::size_t animal_named(const ModelName& name) {
  for (std::size_t i = 0; i < kZoo.size(); ++i) {
    if (name.value() == kZoo[i].name) return i;
  }
  return kZoo.size();
}

}  // namespace corral::residency::simulation
