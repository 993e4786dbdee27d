// Two conversations with one model at the same time: streaming, several turns, a cancel.
//
//   two_sessions MODEL.gguf
#include <cstdio>
#include <string>
#include <utility>

#include "engine/service/llama_service.h"

namespace engine = corral::engine;

namespace {

int fail(const corral::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  return 1;
}

// Prints an answer while it comes.
void print(const char* name, engine::StreamHandle stream) {
  std::printf("%s: ", name);
  while (const auto chunk = stream.next()) {
    std::fputs(chunk->text.c_str(), stdout);
    std::fflush(stdout);
    if (chunk->finish) {
      std::printf(" [%s, %u tokens]\n", engine::to_string(chunk->finish->reason),
                  chunk->finish->usage.completion_tokens);
    }
  }
}

// One conversation: what is said is appended, the answer comes as a stream.
struct Conversation {
  engine::LlamaService& service;
  engine::SessionId session;

  corral::Result<engine::StreamHandle> prompt(std::string_view text) const {
    if (auto appended = service.append_input(session, text); !appended) return std::unexpected(appended.error());
    // Greedy, so that the same model always gives the same answer.
    return service.generate_stream(session, {.max_new_tokens = 100, .sampling = {.temperature = 0}});
  }
};

int run(engine::LlamaService& service) {
  const auto first = service.create_session(), second = service.create_session();
  if (!first) return fail(first.error());
  if (!second) return fail(second.error());
  const Conversation anna{service, *first}, ben{service, *second};

  // Both are computed together from here on, whoever is read first.
  auto to_anna = anna.prompt("Hi\n"), to_ben = ben.prompt("Hello\n");
  if (!to_anna) return fail(to_anna.error());
  if (!to_ben) return fail(to_ben.error());
  print("anna", std::move(*to_anna));
  print("ben", std::move(*to_ben));

  // A second turn goes on from all that was said before; only what is new is computed.
  auto again = anna.prompt("\nWho are you?\n");
  if (!again) return fail(again.error());
  print("anna", std::move(*again));

  // Ben has heard enough after the first words. The session lives on.
  auto enough = ben.prompt("\nTell me more\n");
  if (!enough) return fail(enough.error());
  (void)enough->next();
  enough->cancel();
  while (const auto chunk = enough->next()) {
    if (chunk->finish) std::printf("ben: [%s]\n", engine::to_string(chunk->finish->reason));
  }
  auto after = ben.prompt("\nGo on\n");
  if (!after) return fail(after.error());
  print("ben", std::move(*after));

  // Errors are values with facts, told apart by their cause.
  if (auto ended = service.end_session(*second); !ended) return fail(ended.error());
  const auto late = ben.prompt("Still there?");
  if (const auto* missing = late ? nullptr : late.error().fact<engine::SessionNotFound>())
    std::printf("session %llu has ended\n", static_cast<unsigned long long>(missing->id.value()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s MODEL.gguf\n", argv[0]);
    return 2;
  }
  auto service = engine::LlamaService::init();
  if (!service) return fail(service.error());
  // A stream that nobody reads pauses its session after so many tokens, and no other.
  if (auto loaded = (*service)->load_model_with_workers(argv[1], {.n_ctx = 2048, .stream_tokens = 8}, 1); !loaded)
    return fail(loaded.error());
  return run(**service);
}
