#include "model.h"

namespace corral::test_models {

void describe_model(Metadata& metadata, const std::string& architecture, const std::string& name, FileType type) {
  metadata.set("general.architecture", architecture);
  metadata.set("general.type", "model");
  metadata.set("general.name", name);
  metadata.set("general.description", "Made by corral's generator for tests; knows nothing");
  metadata.set("general.license", "apache-2.0");
  metadata.set("general.file_type", static_cast<std::uint32_t>(type));
  metadata.set("general.quantization_version", std::uint32_t{GGML_QNT_VERSION});
}

}  // namespace corral::test_models
