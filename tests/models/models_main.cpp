// corral-make-models: writes the test models. script/models is the way to call it.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "catalogue.h"

int main(int argc, char** argv) {
  corral::test_models::Options options{.vocabularies = CORRAL_VOCABULARIES};
  CLI::App app("Writes small real GGUF models for tests, from a seed");
  app.add_option("--out", options.out, "Folder to write into")->required();
  app.add_option("--seed", options.seed, "Seed of all random weights")->capture_default_str();
  app.add_option("--vocabularies", options.vocabularies, "Folder with llama.cpp's ggml-vocab-*.gguf")
      ->capture_default_str();
  bool bench = false, bench_vision = false, large = false, weighty = false, quantised = false, pretokenizers = false,
       vision = false;
  app.add_flag("--bench", bench, "The 0.5B-shaped models for benchmarks instead of the small ones");
  app.add_flag("--bench-vision", bench_vision, "The projector that makes them take pictures");
  app.add_flag("--bench-7b", large, "A 7B-shaped model of 8 GB, for benchmarks of GPUs");
  app.add_flag("--weighty", weighty, "Models of some hundred MB that are nearly all weights, for splits");
  app.add_flag("--quantised", quantised, "Models of some MB in Q8_0 and Q4_0");
  app.add_flag("--pretokenizers", pretokenizers, "Models whose pre-tokenizers take much stack or time for some texts");
  app.add_flag("--vision", vision, "Models that take pictures, with their projectors");
  CLI11_PARSE(app, argc, argv);
  using corral::test_models::Set;
  options.set = bench           ? Set::real
                : bench_vision  ? Set::real_projectors
                : large         ? Set::large
                : weighty       ? Set::weighty
                : quantised     ? Set::quantised
                : pretokenizers ? Set::pretokenizers
                : vision        ? Set::vision
                                : Set::small;
  options.on_model = [](std::string_view name) { fmt::print(stderr, "  {}\n", name); };
  try {
    corral::test_models::make_models(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "corral-make-models: {}\n", error.what());
    return 1;
  }
  return 0;
}
