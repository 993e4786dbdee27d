// What ggml-vulkan uses of VK_EXT_layer_settings (1.3.272), for the older headers of Debian 12. Drivers ignore a
// structure of an extension that they don't know, and ggml enables it only to debug itself.
#pragma once

#include <cstdint>
#include <vector>

#include <vulkan/vulkan_core.h>

#ifndef VK_EXT_layer_settings
namespace vk {

enum class LayerSettingTypeEXT : std::int32_t { eBool32 = 0 };

struct LayerSettingEXT {
  const char* layer;
  const char* setting;
  LayerSettingTypeEXT type;
  std::uint32_t count;
  const void* values;
};

struct LayerSettingsCreateInfoEXT {
  explicit LayerSettingsCreateInfoEXT(const std::vector<LayerSettingEXT>& all)
      : count(static_cast<std::uint32_t>(all.size())), settings(all.data()) {}

  std::int32_t type = 1000496000;  // VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT
  const void* next = nullptr;
  std::uint32_t count;
  const LayerSettingEXT* settings;
};

}  // namespace vk
#endif
