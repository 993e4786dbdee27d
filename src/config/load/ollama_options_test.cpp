#include "config/load/ollama_options.h"

#include <gtest/gtest.h>

namespace corral::config {
namespace {

TEST(OllamaOptions, ParametersThatAreOptionsOfALoadAreTaken) {
  const auto options = options_of_ollama(
      R"({"num_ctx":4096,"num_gpu":0,"use_mmap":true,"stop":["a"],"temperature":0.6,"num_thread":"x"})");
  EXPECT_EQ(options.ctx_size, 4096);
  EXPECT_EQ(options.gpu_layers, 0);
  EXPECT_EQ(options.mmap, true);
  EXPECT_FALSE(options.threads);
  EXPECT_FALSE(options_of_ollama(R"({"num_ctx":-7})").ctx_size);
  for (const auto* text : {"", "[]", "{"}) EXPECT_EQ(options_of_ollama(text), LoadOptions());
}

}  // namespace
}  // namespace corral::config
