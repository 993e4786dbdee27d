// A library to preload into a program that uses libllama: it takes the place of llama_decode, and records each call of
// it in the file that CORRAL_PASS_LOG names. bench/engine/passes.py reads the records.
#include <cstdint>
#include <cstdlib>

#include <dlfcn.h>
#include <fcntl.h>
#include <llama.h>
#include <time.h>
#include <unistd.h>

namespace {

// As passes.py unpacks it. Times in nanoseconds of the monotonic clock.
struct Record {
  std::int64_t began;
  std::int64_t ended;
  std::int64_t rows;
};

std::int64_t now() {
  timespec at = {};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1'000'000'000 + at.tv_nsec;
}

int open_log() {
  const char* const path = std::getenv("CORRAL_PASS_LOG");
  return path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

}  // namespace

// Any thread. The write of a record is part of the time between two passes.
extern "C" __attribute__((visibility("default"))) std::int32_t llama_decode(llama_context* context, llama_batch batch) {
  using Decode = std::int32_t (*)(llama_context*, llama_batch);
  static const auto decode = reinterpret_cast<Decode>(dlsym(RTLD_NEXT, "llama_decode"));
  static const int log = open_log();
  if (decode == nullptr) std::abort();
  Record record = {.began = now(), .ended = 0, .rows = batch.n_tokens};
  const std::int32_t status = decode(context, batch);
  record.ended = now();
  if (log >= 0 && write(log, &record, sizeof(record)) != sizeof(record)) std::abort();
  return status;
}
