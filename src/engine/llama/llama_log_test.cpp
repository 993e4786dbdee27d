#include "engine/llama/llama_log.h"

#include <gtest/gtest.h>
#include <llama.h>

namespace corral::engine {
namespace {

class LlamaLogTest : public ::testing::Test {
 protected:
  LlamaLogTest() {
    install_llama_log();
    llama_log_get(&log_, &data_);
  }
  void log_line(ggml_log_level level, const char* text) { log_(level, text, data_); }

 private:
  ggml_log_callback log_ = nullptr;
  void* data_ = nullptr;
};

TEST_F(LlamaLogTest, ErrorsAreTheReasonAndWarningsWhereThereAreNone) {
  const LogCapture log;
  EXPECT_EQ(log.text_or("nothing"), "nothing");
  log_line(GGML_LOG_LEVEL_WARN, "load: control-looking token: 7 '</s>' was not control-type\n");
  EXPECT_EQ(log.text(), "load: control-looking token: 7 '</s>' was not control-type");
  log_line(GGML_LOG_LEVEL_ERROR, "device CUDA0 does not ");
  log_line(GGML_LOG_LEVEL_CONT, "support split buffers\n");
  log_line(GGML_LOG_LEVEL_ERROR, "failed to load model\n");
  log_line(GGML_LOG_LEVEL_INFO, "done\n");
  EXPECT_EQ(log.text(), "device CUDA0 does not support split buffers; failed to load model");
}

TEST_F(LlamaLogTest, WarningsOfMemoryCountBesideErrors) {
  const LogCapture log;
  log_line(GGML_LOG_LEVEL_WARN, "failed to allocate CUDA0 buffer\n");
  EXPECT_TRUE(log.speaks_of_memory());
  log_line(GGML_LOG_LEVEL_ERROR, "failed to load model\n");
  EXPECT_TRUE(log.speaks_of_memory());
}

TEST_F(LlamaLogTest, TheLastLinesAreKept) {
  const LogCapture log;
  for (const char* line : {"one\n", "two\n", "three\n", "four\n", "five\n"}) log_line(GGML_LOG_LEVEL_ERROR, line);
  EXPECT_EQ(log.text(), "two; three; four; five");
}

}  // namespace
}  // namespace corral::engine
