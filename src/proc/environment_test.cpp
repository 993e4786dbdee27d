#include "proc/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::proc {
namespace {

using testing::UnorderedElementsAre;

TEST(Environment, PassesWhatProgramsNeed) {
  for (const auto* name : {"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "XDG_CACHE_HOME",
                           "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                           "GGML_VK_VISIBLE_DEVICES", "GGML_BACKEND_PATH", "LLAMA_TRACE", "OMP_NUM_THREADS",
                           "VK_ICD_FILENAMES", "MESA_VK_DEVICE_SELECT", "CORRAL_ENGINE_EXTRA"}) {
    EXPECT_TRUE(is_inherited(name)) << name;
  }
}

TEST(Environment, PassesNoSecretsAndNothingElse) {
  for (const auto* name : {"HF_TOKEN",
                           "HUGGING_FACE_HUB_TOKEN",
                           "CORRAL_API_KEY",
                           "OPENAI_API_KEY",
                           "AWS_SECRET_ACCESS_KEY",
                           "LLAMA_API_KEY",
                           "LLAMA_ARG_HF_TOKEN",
                           "GGML_SECRET",
                           "XDG_Token_of_mine",
                           "LC_PASSWORD",
                           "CORRAL_ENGINE_AUTH",
                           "SSH_AUTH_SOCK",
                           "GIT_ASKPASS",
                           "http_proxy",
                           "DBUS_SESSION_BUS_ADDRESS",
                           "CORRAL_CONFIG",
                           "CORRAL_URL",
                           "PATHS",
                           "PAT",
                           "",
                           "LC"}) {
    EXPECT_FALSE(is_inherited(name)) << name;
  }
}

TEST(Environment, ChangesAreMadeWhateverTheirNames) {
  const char* const ours[] = {"PATH=/bin", "HF_TOKEN=hf_abc", "LC_ALL=C", "TZ=UTC", "ODD", nullptr};
  EXPECT_THAT(
      child_environment(ours, {{"LC_ALL", std::nullopt}, {"TZ", "GMT"}, {"MY_KEY", "a=b"}, {"GONE", std::nullopt}}),
      UnorderedElementsAre("PATH=/bin", "TZ=GMT", "MY_KEY=a=b"));
}

}  // namespace
}  // namespace corral::proc
