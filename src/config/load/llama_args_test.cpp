#include "config/load/llama_args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

LoadOptions parsed(std::string_view text) {
  const auto options = parse_llama_args(text);
  EXPECT_TRUE(options) << text << ": " << (options ? "" : options.error().message);
  return options.value_or(LoadOptions());
}
std::string refused(std::string_view text) {
  const auto options = parse_llama_args(text);
  if (options) return "";
  EXPECT_EQ(options.error().param, "llamacpp_args");
  return options.error().message;
}

TEST(LlamaArgs, KnownFlagsBecomeOptions) {
  const auto options = parsed("-c 4096 --parallel=2 -t 3 -ngl 12 --draft-max 5 -cram 64 -md draft.gguf --jinja -cb");
  EXPECT_EQ(options.ctx_size, 4096);
  EXPECT_EQ(options.parallel, 2);
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.gpu_layers, 12);
  EXPECT_EQ(options.speculative, 5);
  EXPECT_EQ(options.park_bytes, 64 << 20);
  EXPECT_EQ(options.draft_model, "draft.gguf");
  EXPECT_EQ(options.kv_unified, std::nullopt);
  EXPECT_EQ(parsed("-kvu").kv_unified, true);
  EXPECT_EQ(parsed("--kv-unified --no-kv-unified").kv_unified, false);
  EXPECT_EQ(parsed("--pooling none").pooling, "none");
  EXPECT_EQ(parsed("-b 64").batch_size, 64);
  EXPECT_EQ(parsed("--batch-size=2048").batch_size, 512) << "a pass of -ub tokens";
  EXPECT_EQ(refused("-b 0"), "'llamacpp_args': invalid value '0' for '-b'");
  EXPECT_EQ(parsed(""), LoadOptions());
}

TEST(LlamaArgs, HowTheCacheAndTheFileAreKept) {
  const auto options = parsed("-fa off -ctk q8_0 --cache-type-v=q4_0 --mlock --no-mmap");
  EXPECT_EQ(options.flash_attention, "off");
  EXPECT_EQ(options.cache_type_k, "q8_0");
  EXPECT_EQ(options.cache_type_v, "q4_0");
  EXPECT_EQ(options.mlock, true);
  EXPECT_EQ(options.mmap, false);
  EXPECT_THAT(refused("-fa perhaps"), HasSubstr("'flash_attention' must be one of auto, on, off, not 'perhaps'"));
  EXPECT_THAT(refused("-ctk q3_k"), HasSubstr("not 'q3_k'"));
  EXPECT_THAT(refused("--mlock=1"), HasSubstr("takes no value"));
}

TEST(LlamaArgs, HowSeveralGpusShareAModel) {
  const auto options = parsed("-dev CUDA0,CUDA2 -sm row --tensor-split=3,1 -mg 1 --swa-full");
  EXPECT_EQ(options.devices, (std::vector<std::string>{"CUDA0", "CUDA2"}));
  EXPECT_EQ(options.split_mode, "row");
  EXPECT_EQ(options.tensor_split, "3,1");
  EXPECT_EQ(options.main_gpu, 1);
  EXPECT_EQ(options.swa_full, true);
  EXPECT_THAT(refused("-sm columns"), HasSubstr("'split_mode' must be one of auto, none, layer, row, not 'columns'"));
  EXPECT_THAT(refused("-ts 3;1"), HasSubstr("'tensor_split' must be up to 16 numbers"));
  EXPECT_THAT(refused("-mg 99"), HasSubstr("'main_gpu'"));
  EXPECT_THAT(refused("-dev ,"), HasSubstr("invalid value ',' for '-dev'"));
}

TEST(LlamaArgs, AProjectorIsAFileOrNone) {
  const auto options = parsed("--mmproj p.gguf --no-mmproj-offload");
  EXPECT_EQ(options.mmproj, "p.gguf");
  EXPECT_EQ(options.mmproj_offload, false);
  EXPECT_EQ(named_projector(options), "p.gguf");
  EXPECT_EQ(parsed("-mm p.gguf --no-mmproj").mmproj, kNoProjector) << "the last one";
  EXPECT_EQ(parsed("--no-mmproj-auto --mmproj-auto --mmproj-offload").mmproj, "auto");
  EXPECT_EQ(named_projector(parsed("--no-mmproj")), "");
  EXPECT_EQ(named_projector(parsed("--mmproj-auto")), "");
  EXPECT_EQ(refused("--mmproj ''"), "'llamacpp_args': invalid value '' for '--mmproj'");
}

TEST(LlamaArgs, AutomaticStaysAutomatic) {
  const auto options = parsed("--n-gpu-layers all --threads -1 -np -1 -c 0");
  EXPECT_EQ(options.gpu_layers, -1);
  EXPECT_EQ(options.threads, 0);
  EXPECT_FALSE(options.parallel);
  EXPECT_EQ(options.ctx_size, 0);
}

TEST(LlamaArgs, QuotationMarksKeepWordsTogether) {
  EXPECT_THAT(parsed(R"(--lora "my adapter.gguf" --lora-scaled 'b.gguf:0.5,c.gguf:2')").lora.value(),
              ElementsAre("my adapter.gguf", "b.gguf:0.5", "c.gguf:2"));
}

TEST(LlamaArgs, WhatHasNoEqualIsRefusedByName) {
  EXPECT_THAT(refused("-c 1 --port 80"), HasSubstr("'--port' has no equivalent here; supported flags: -c, -np"));
  EXPECT_THAT(refused("hello"), HasSubstr("'hello' has no equivalent"));
  EXPECT_THAT(refused("-c"), HasSubstr("'-c' needs a value"));
  EXPECT_THAT(refused("-c many"), HasSubstr("invalid value 'many' for '-c'"));
  EXPECT_THAT(refused("-np 1000"), HasSubstr("'parallel' must be between 1 and 256, not 1000"));
  EXPECT_THAT(refused("--jinja=yes"), HasSubstr("takes no value"));
  EXPECT_THAT(refused("--lora 'x"), HasSubstr("not closed"));
  EXPECT_THAT(refused("--lora ''"), HasSubstr("invalid value '' for '--lora'"));
  EXPECT_THAT(refused("''"), HasSubstr("'' has no equivalent"));
}

}  // namespace
}  // namespace corral::config
